// libcutec from C++: objects that free themselves, errors as exceptions, several threads on one loaded module.
//   embed FILE      compiles examples/relu.cute, and runs it in the simulator
#include <cutec.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

template <auto free>
struct Free {
    template <typename T>
    void operator()(T *object) const
    {
        free(object);
    }
};
using Error = std::unique_ptr<cutec_error, Free<cutec_error_free>>;
using Module = std::unique_ptr<cutec_module, Free<cutec_module_free>>;
using Loaded = std::unique_ptr<cutec_loaded, Free<cutec_loaded_free>>;
using Options = std::unique_ptr<cutec_options, Free<cutec_options_free>>;

// Does a call, whose last argument is where an error goes.
template <typename Call>
void call(Call call)
{
    cutec_error *error = nullptr;
    if (call(&error) != CUTEC_OK)
        throw std::runtime_error(cutec_error_message(Error(error).get()));
}

Module compile(const std::string &path, const cutec_options *options)
{
    cutec_module *module = nullptr;
    call([&](cutec_error **error) { return cutec_compile_file(path.c_str(), options, &module, error); });
    return Module(module);
}

Loaded load(const cutec_module *module, int32_t device)
{
    cutec_loaded *loaded = nullptr;
    call([&](cutec_error **error) { return cutec_load(module, device, nullptr, &loaded, error); });
    return Loaded(loaded);
}

// A matrix of f16, as bits, in memory of the host.
struct Matrix {
    std::vector<uint16_t> bits;
    std::vector<int64_t> shape;
    DLTensor tensor;

    Matrix(int64_t rows, int64_t columns, uint16_t fill) : bits(rows * columns, fill), shape{rows, columns}
    {
        tensor = DLTensor{bits.data(), {kDLCPU, 0}, 2, {kDLFloat, 16, 1}, shape.data(), nullptr, 0};
    }
    Matrix(const Matrix &) = delete;

    cutec_argument argument() const { return cutec_tensor(&tensor); }
};

constexpr uint16_t ONE = 0x3C00, MINUS_TWO = 0xC000, NAN_BITS = 0x7E00;

bool relu_is_right(const cutec_loaded *loaded, int64_t rows)
{
    Matrix x(rows, 104, MINUS_TWO), y(rows, 104, NAN_BITS);
    for (size_t i = 0; i < x.bits.size(); i += 3)
        x.bits[i] = ONE;
    const cutec_argument args[] = {x.argument(), y.argument()};
    call([&](cutec_error **error) { return cutec_launch(loaded, "relu", args, 2, nullptr, error); });
    for (size_t i = 0; i < y.bits.size(); i++)
        if (y.bits[i] != (i % 3 == 0 ? ONE : 0))
            return false;
    return true;
}

} // namespace

int main(int count, char **arguments)
{
    if (count != 2) {
        std::fprintf(stderr, "usage: embed FILE\n");
        return 2;
    }
    try {
        Options options(cutec_options_new());
        call([&](cutec_error **error) { return cutec_options_set(options.get(), "remarks", "true", error); });
        Module module = compile(arguments[1], options.get());
        for (size_t i = 0; i < cutec_module_notice_count(module.get()); i++) {
            const cutec_diagnostic *notice = cutec_module_notice(module.get(), i);
            std::printf("%s:%u: %s: %s\n", notice->file, notice->line, notice->severity, notice->message);
        }
        Loaded loaded = load(module.get(), CUTEC_SIMULATOR);
        module.reset();

        // Threads share what is loaded.
        bool right[4] = {};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back([&, i] { right[i] = relu_is_right(loaded.get(), 8 + i); });
        for (std::thread &thread : threads)
            thread.join();
        for (bool one : right)
            if (!one)
                throw std::runtime_error("a result is wrong");
        std::printf("relu is right on 4 threads\n");

        // 100 columns are no multiple of 8.
        Matrix x(4, 100, ONE), y(4, 100, ONE);
        const cutec_argument args[] = {x.argument(), y.argument()};
        try {
            call([&](cutec_error **error) { return cutec_launch(loaded.get(), "relu", args, 2, nullptr, error); });
            throw std::logic_error("100 columns are not refused");
        } catch (const std::runtime_error &error) {
            std::printf("%s\n", error.what());
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "embed: %s\n", error.what());
        return 1;
    }
    return 0;
}
