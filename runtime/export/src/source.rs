//! The source: images as data, checks, launchers, and the same for tvm-ffi.

use crate::choice::Chosen;
use crate::expr::constant;
use crate::launcher::Launcher;
use crate::names::{comment, literal};
use crate::signature::{ParameterKind, Signature};
use crate::{Configured, Export, Image, Library};
use cutec_abi::dlpack::DataType;
use cutec_abi::{BindError, DType};
use std::fmt::Write;

const RUNTIME: &str = include_str!("c/runtime.c");
const CHOICE: &str = include_str!("c/choice.c");
const TENSOR_MAPS: &str = include_str!("c/tensor_maps.c");
const SMALL_FLOATS: &str = include_str!("c/small_floats.c");
const TVM_FFI: &str = include_str!("c/tvm_ffi.c");

/// The text of the source.
pub fn write(export: &Export<'_>, library: &Library<'_>) -> String {
    let name = export.name;
    let mut text = format!(
        "/* {}.c: the kernels of {} for {}. Made by `cutec export`, {}.\n   C11; needs no other library than C's. */\n\
         #define _GNU_SOURCE\n#include \"{}.h\"\n\n\
         #include <dlfcn.h>\n#include <pthread.h>\n#include <stdalign.h>\n#include <stdarg.h>\n#include <stdatomic.h>\n\
         #include <stdio.h>\n#include <string.h>\n\n",
        comment(name),
        comment(export.source),
        library.targets(),
        comment(export.compiler),
        name
    );
    let _ = writeln!(
        text,
        "#define LIBRARY {}",
        literal(&name.replace('%', "%%"))
    );
    let _ = writeln!(text, "#define TARGETS {}", literal(&library.targets()));
    let _ = writeln!(text, "#define KERNELS {}", library.signatures.len());
    let _ = writeln!(text, "#define IMAGES {}", export.builds.len());
    let _ = writeln!(text, "#define PARTS {}", library.parts);
    let _ = writeln!(text, "#define FUNCTIONS {}", library.functions());
    let _ = writeln!(text, "#define MOST_MODES {}", library.most_modes());
    text.push_str(
        "\n/* Element types, as DLPack calls them. */\nstatic const struct element_type {\n    uint8_t code, bits;\n    const char *name;\n} element_types[] = {\n",
    );
    for dtype in DType::ALL.into_iter().filter(|dtype| *dtype != DType::TF32) {
        let DataType { code, bits, .. } = DataType::of(dtype);
        let _ = writeln!(text, "    {{{code}, {bits}, {}}},", literal(dtype.name()));
    }
    text.push_str("};\n\n");
    text.push_str(RUNTIME);
    if library
        .launches()
        .any(|kernel| !kernel.tensor_maps.is_empty())
    {
        text.push_str(TENSOR_MAPS);
    }
    let choices = library.choices.iter().flatten();
    if let Some(most) = choices.map(Chosen::symbols).max() {
        let _ = writeln!(text, "#define MOST_SYMBOLS {}\n", most.max(1));
        text.push_str(CHOICE);
    }
    let mut scalars = library
        .signatures
        .iter()
        .flat_map(|signature| &signature.parameters);
    if scalars.any(|parameter| matches!(parameter.kind, ParameterKind::Scalar(scalar) if scalar.is_small_float())) {
        text.push_str(SMALL_FLOATS);
    }
    text.push_str(TVM_FFI);
    for (number, signature) in library.signatures.iter().enumerate() {
        kernel(&mut text, library, number, signature);
    }
    let prefixed = &library.prefixed;
    let _ = write!(
        text,
        "\n/* ---- The library ---- */\n\
         \nAPI int32_t {prefixed}_load(int32_t device)\n{{\n    struct device *opened;\n    \
         int32_t status = open_device(device, &opened);\n    return status == CUTEC_OK ? load_all(opened) : status;\n}}\n\
         \nAPI const char *{prefixed}_last_error(void)\n{{\n    return last_error;\n}}\n"
    );
    images(&mut text, export, library);
    text
}

fn kernel(text: &mut String, library: &Library<'_>, number: usize, signature: &Signature<'_>) {
    let name = signature.name;
    let _ = writeln!(text, "\n/* ---- {} ---- */", comment(name));
    let configurations = &library.configurations[number];
    for (configuration, configured) in configurations.iter().enumerate() {
        for (variant, kernel) in configured.variants.iter().enumerate() {
            let mut about = Vec::new();
            if configuration > 0 {
                about.push(format!("With {}.", settings(configured)));
            }
            if configured.variants.len() > 1 {
                about.push(format!("For {}.", library.targets_of(configured, variant)));
            }
            if !about.is_empty() {
                let _ = writeln!(text, "\n/* {} */", comment(&about.join(" ")));
            }
            let function = configured.function;
            text.push_str(&Launcher::write(
                signature,
                kernel,
                function,
                configuration,
                variant,
            ));
        }
    }
    let chosen = library.choices[number].as_ref();
    if let Some(chosen) = chosen {
        text.push_str(&chosen.write(signature));
    }
    configuration(text, configurations, signature);
    let (identifier, prefix) = (&signature.identifier, &library.prefix);
    let inner = signature.inner_parameters();
    let arguments = signature.inner_arguments();
    let _ = writeln!(
        text,
        "\n/* Launches on the GPU of the tensors. */\n\
         static int32_t launch_{identifier}({inner}CUstream stream)\n{{"
    );
    let tensors: Vec<_> = signature.tensors().collect();
    let pointers: String = tensors
        .iter()
        .map(|tensor| format!("{}, ", tensor.inner_name()))
        .collect();
    let names: String = tensors
        .iter()
        .map(|tensor| literal(tensor.name) + ", ")
        .collect();
    let _ = writeln!(
        text,
        "    const DLTensor *const tensors[] = {{{pointers}0}};"
    );
    let _ = writeln!(text, "    static const char *const names[] = {{{names}0}};");
    text.push_str(
        "    struct device *device;\n    int32_t status = device_of(tensors, names, &device);\n",
    );
    text.push_str("    if (status != CUTEC_OK)\n        return status;\n");
    if chosen.is_some() {
        let function = Chosen::function(signature);
        let given = arguments.strip_suffix(", ").unwrap_or_default();
        // What the chosen configuration refuses the defaults may take, and the text of the last error is then that of another call.
        let _ = writeln!(
            text,
            "    int configuration = {function}({given});\n    if (configuration > 0) {{\n        \
             char before[sizeof last_error];\n        strcpy(before, last_error);\n        \
             status = configured_{identifier}(device, configuration, {arguments}stream);\n        \
             if (!is_refused(status))\n            return status;\n        strcpy(last_error, before);\n    }}"
        );
    }
    let _ = writeln!(
        text,
        "    return configured_{identifier}(device, 0, {arguments}stream);\n}}"
    );
    let given: String = signature
        .parameters
        .iter()
        .map(|parameter| match parameter.kind {
            ParameterKind::Tensor => format!("{}, ", parameter.c_name),
            ParameterKind::Scalar(scalar) => format!("{}, ", scalar.convert(&parameter.c_name)),
        })
        .collect();
    let _ = writeln!(
        text,
        "\nAPI int32_t {prefix}{identifier}_launch({}struct CUstream_st *stream)\n{{\n    return launch_{identifier}({given}stream);\n}}",
        signature.parameters()
    );
    tvm_ffi(text, library, signature);
}

/// Writes the function that launches a configuration in the way of the image that the GPU takes.
fn configuration(text: &mut String, configurations: &[Configured], signature: &Signature<'_>) {
    let (identifier, inner) = (&signature.identifier, signature.inner_parameters());
    let arguments = signature.inner_arguments();
    let _ = writeln!(
        text,
        "\nstatic int32_t configured_{identifier}(struct device *device, int configuration, {inner}CUstream stream)\n{{\n    \
         switch (IMAGES * configuration + device->image->build) {{"
    );
    let builds = configurations[0].variant_of_build.len();
    for (number, configured) in configurations.iter().enumerate() {
        for (variant, _) in configured.variants.iter().enumerate() {
            let of_builds = configured.variant_of_build.iter().enumerate();
            for (build, _) in of_builds.filter(|(_, of_build)| **of_build == variant) {
                match number + build {
                    // The defaults for the first target stand for all that there is not.
                    0 => text.push_str("    default:\n"),
                    _ => {
                        let _ = writeln!(text, "    case {}:", builds * number + build);
                    }
                }
            }
            let function = Launcher::function(signature, number, variant);
            let _ = writeln!(
                text,
                "        return {function}(device, {arguments}stream);"
            );
        }
    }
    text.push_str("    }\n}\n");
}

/// The compile-time parameters of a configuration: `bm = 64, bn = 128`.
pub fn settings(configured: &Configured) -> String {
    let defines = configured.variants.first().map(|kernel| &kernel.defines);
    let pairs = defines.into_iter().flatten();
    let texts: Vec<String> = pairs
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    texts.join(", ")
}

fn tvm_ffi(text: &mut String, library: &Library<'_>, signature: &Signature<'_>) {
    let (name, identifier) = (signature.name, &signature.identifier);
    let count = signature.parameters.len();
    let quoted = literal(&name.replace('%', "%%"));
    let function = format!("__tvm_ffi_{}{identifier}", library.prefix);
    let _ = writeln!(
        text,
        "\nAPI int {function}(void *self, const struct any *args, int32_t count, struct any *result);\n\
         API int {function}(void *self, const struct any *args, int32_t count, struct any *result)\n{{"
    );
    let mut line = |line: &str| {
        let _ = writeln!(text, "    {line}");
    };
    line("(void)self, (void)args, (void)result;");
    let wrong = BindError::Count {
        kernel: name.to_owned(),
        names: signature
            .parameters
            .iter()
            .map(|parameter| parameter.name.to_owned())
            .collect(),
        found: 0,
    };
    // The number is the last word.
    let said = wrong.to_string().replace('%', "%%");
    let said = literal(&format!("{}%d", said.strip_suffix('0').unwrap_or(&said)));
    line(&format!("if (count != {count})"));
    line(&format!(
        "    return raised({quoted}, fail(CUTEC_{}, {said}, count));",
        wrong.status().c_name()
    ));
    for (index, parameter) in signature.parameters.iter().enumerate() {
        let inner = &parameter.inner;
        let (shown, arg) = (literal(parameter.name), format!("&args[{index}]"));
        match parameter.kind {
            ParameterKind::Tensor => {
                line(&format!(
                    "const DLTensor *tensor_{inner} = tensor_of({arg});"
                ));
                let wrong = BindError::Kind {
                    arg: parameter.name.to_owned(),
                    expected: "tensor",
                    found: "scalar",
                };
                let code = wrong.status().c_name();
                let scalar = literal(&wrong.to_string().replace('%', "%%"));
                let other = literal(
                    &format!(
                        "`{}`: expected a tensor, found tvm-ffi's type ",
                        parameter.name
                    )
                    .replace('%', "%%"),
                );
                line(&format!(
                    "if (!tensor_{inner} && args[{index}].type >= IS_INT && args[{index}].type <= IS_FLOAT)"
                ));
                line(&format!(
                    "    return raised({quoted}, fail(CUTEC_{code}, {scalar}));"
                ));
                line(&format!("if (!tensor_{inner})"));
                line(&format!(
                    "    return raised({quoted}, fail(CUTEC_{code}, {other} \"%d\", args[{index}].type));"
                ));
            }
            ParameterKind::Scalar(scalar) => {
                let dtype = literal(scalar.dtype.name());
                let (ty, call) = match scalar.range() {
                    None => (
                        "double",
                        format!("float_of({arg}, {shown}, {dtype}, &number_{inner})"),
                    ),
                    Some((least, most)) => (
                        "int64_t",
                        format!(
                            "integer_of({arg}, {shown}, {dtype}, {}, {}, &number_{inner})",
                            constant(least),
                            constant(most)
                        ),
                    ),
                };
                line(&format!("{ty} number_{inner} = 0;"));
                line(&format!("int32_t status_{inner} = {call};"));
                line(&format!("if (status_{inner} != CUTEC_OK)"));
                line(&format!("    return raised({quoted}, status_{inner});"));
                let value = match scalar.dtype {
                    DType::Bool => format!("number_{inner} != 0"),
                    _ => scalar.convert(&format!("number_{inner}")),
                };
                line(&format!("{} scalar_{inner} = {value};", scalar.passed));
            }
        }
    }
    let first = signature.tensors().next();
    let stream = first.map_or("0".to_owned(), |tensor| format!("tensor_{}", tensor.inner));
    line(&format!(
        "return raised({quoted}, launch_{identifier}({}stream_of({stream})));",
        signature.inner_arguments()
    ));
    text.push_str("}\n");
}

/// The images as data, and their table.
fn images(text: &mut String, export: &Export<'_>, library: &Library<'_>) {
    text.push_str("\n/* ---- Images ---- */\n");
    for (index, build) in export.builds.iter().enumerate() {
        image(text, &format!("{index}_0"), &build.image);
        for (part, configuration) in build.configurations.iter().enumerate() {
            image(text, &format!("{index}_{}", part + 1), &configuration.image);
        }
    }
    let _ = writeln!(text, "\nstatic const struct image images[IMAGES] = {{");
    for (index, (build, target)) in export.builds.iter().zip(&library.parsed).enumerate() {
        let suffix = target
            .suffix
            .map_or("0".to_owned(), |suffix| format!("'{suffix}'"));
        let parts = (0..library.parts).map(|part| format!("image_{index}_{part}"));
        let _ = writeln!(
            text,
            "    {{{{{}}}, {}, {}, {}, {suffix}, {}, {index}}},",
            parts.collect::<Vec<_>>().join(", "),
            literal(build.target),
            target.major,
            target.minor,
            matches!(build.image, Image::Ptx(_)),
        );
    }
    text.push_str("};\n");
}

/// One image as data.
fn image(text: &mut String, name: &str, image: &Image<'_>) {
    match image {
        Image::Cubin(bytes) => {
            // The driver reads words of it.
            let _ = write!(
                text,
                "\nstatic alignas(16) const unsigned char image_{name}[] = {{"
            );
            for (at, byte) in bytes.iter().enumerate() {
                text.push_str(if at % 32 == 0 { "\n    " } else { "" });
                let _ = write!(text, "{byte},");
            }
            text.push_str("\n};\n");
        }
        Image::Ptx(ptx) => {
            let _ = write!(text, "\nstatic const char image_{name}[] =");
            for line in cutec_abi::embed::strip(ptx).lines() {
                let _ = write!(text, "\n    {}", literal(&format!("{line}\n")));
            }
            text.push_str(";\n");
        }
    }
}
