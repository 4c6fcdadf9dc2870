"""Plans: launches take the configuration of the nearest measured size; searches with the workers of any executor."""

import concurrent.futures
import json
import multiprocessing

import cutec
import numpy as np
import pytest

SOURCE = """
kernel scale<threads = 128 in [32, 64, 256], per = 1 in [2]>(x: tensor<f32, n>, y: mut tensor<f32, n>)
where tunable threads * per <= 256
launch grid(ceil_div(n, threads * per)), block(threads)
{
    static for i in 0..per {
        let at = (block_idx.x * per + i) * threads + thread_idx.x;
        if at < n { y[at] = 2.0 * x[at]; }
    }
}

bench sizes { for n in [256, 100000] { scale(random<f32>(n), poison<f32>(n)); } }
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "scale.cute"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def plan(source, tmp_path):
    path = tmp_path / "plan.json"
    found = cutec.tune(source, bench="sizes", devices=["sim"], arch="sm_80", cache=False, output=path)
    assert found == json.loads(path.read_text())
    return path


def chosen(found):
    return [size["chosen"] for kernel in found["kernels"] for size in kernel["sizes"]]


def test_a_plan_is_found_here(plan):
    found = json.loads(plan.read_text())
    assert found["cutec_plan"] == 1 and found["device"]["name"] == "simulator"
    sizes = found["kernels"][0]["sizes"]
    assert [size["extents"] for size in sizes] == [[256], [100000]]
    assert sizes[0]["chosen"]["threads"] == "32" and sizes[0]["speedup"] > 1.5


def test_launches_take_the_nearest_size(source, plan):
    module = cutec.load(source, arch="sm_80", cache=False, plan=plan)
    for count in [1, 300, 70000]:
        x = np.arange(count, dtype=np.float32)
        y = np.zeros_like(x)
        module.scale(x, y)
        assert (y == 2 * x).all()
    # What is chosen by hand is launched as it is.
    y = np.zeros_like(x)
    module.scale(x, y, threads=64)
    assert (y == 2 * x).all()


def test_the_choice_is_the_plan_s(source, plan):
    text = json.loads(plan.read_text())
    for size, threads in zip(text["kernels"][0]["sizes"], ["512", "64"]):
        size["chosen"] = {"threads": threads, "per": "1"}
    # As many threads no block has: the launch of a small size shows that it was chosen.
    text["kernels"][0]["sizes"][0]["chosen"]["threads"] = "2048"
    other = plan.with_name("other.json")
    other.write_text(json.dumps(text))
    module = cutec.load(source, arch="sm_80", cache=False, plan=other)
    x = np.ones(50000, dtype=np.float32)
    y = np.zeros_like(x)
    module.scale(x, y)
    assert (y == 2).all()
    with pytest.raises(cutec.CutecError):
        module.scale(x[:200], y[:200])


COUNTED = """
kernel scale<threads = 128 in [32]>(x: mut tensor<f32, 65536>, count: i32)
launch grid(ceil_div(count, threads)), block(threads)
{
    let at = block_idx.x * threads + thread_idx.x;
    if at < count { x[at] = f32(threads); }
}

bench sizes { for n in [256, 65536] { scale(poison<f32>(65536), n); } }
"""


def test_sizes_may_be_numbers(tmp_path):
    path, plan = tmp_path / "counted.cute", tmp_path / "plan.json"
    path.write_text(COUNTED)
    found = cutec.tune(path, bench="sizes", devices=["sim"], arch="sm_80", cache=False, output=plan)
    assert found["kernels"][0]["symbols"] == ["count"]
    # Whatever was found: small launches are to be seen from large ones.
    for size, threads in zip(found["kernels"][0]["sizes"], ["32", "128"]):
        size["chosen"] = {"threads": threads}
    plan.write_text(json.dumps(found))
    module = cutec.load(path, arch="sm_80", cache=False, plan=plan)
    x = np.zeros(65536, np.float32)
    for count, threads in [(300, 32), (60000, 128), (1, 32)]:
        module.scale(x, count)
        assert (x[:count] == threads).all()
    with pytest.raises(cutec.ArgumentError, match="`count`"):
        module.scale(x, "many")


def test_what_the_chosen_refuses_the_defaults_take(tmp_path):
    path, plan = tmp_path / "part.cute", tmp_path / "plan.json"
    path.write_text(
        "kernel part<bm = 32 in [64]>(x: mut tensor<f32, n>) where n % bm == 0 launch grid(n / bm), block(bm) "
        "{ x[block_idx.x * bm + thread_idx.x] = f32(bm); }\n"
        "bench sizes { part(poison<f32>(4096)); }"
    )
    found = cutec.tune(path, bench="sizes", devices=["sim"], arch="sm_80", cache=False, output=plan)
    found["kernels"][0]["sizes"][0]["chosen"] = {"bm": "64"}
    plan.write_text(json.dumps(found))
    module = cutec.load(path, arch="sm_80", cache=False, plan=plan)
    for count, bm in [(128, 64), (96, 32)]:
        x = np.zeros(count, np.float32)
        module.part(x)
        assert (x == bm).all()
    # What both refuse is an error, of the defaults.
    with pytest.raises(cutec.ArgumentError, match="32"):
        module.part(np.zeros(40, np.float32))


def test_candidates_are_told(source):
    kernel = cutec.load(source).scale
    assert kernel.candidates == {"threads": "[32, 64, 256]", "per": "[2]"}
    assert kernel.tunable == ["threads * per <= 256"]
    assert kernel.abi["candidates"] == kernel.candidates and kernel.abi["tunable"] == kernel.tunable


def test_an_interrupted_search_goes_on(source, plan, tmp_path, monkeypatch):
    from cutec import _tune

    output = tmp_path / "resumed.json"
    options = {"bench": "sizes", "devices": ["sim"], "arch": "sm_80", "cache": False, "output": output}
    measured = []

    def work(asked, launch, numbers, batches, real=_tune.measure_part):
        if len(measured) == 1 and not output.with_name("resumed.json.journal").read_text().count('"launch":1'):
            measured.append(None)
            raise KeyboardInterrupt
        measured.append((launch, tuple(numbers)))
        return real(asked, launch, numbers, batches)

    monkeypatch.setattr(_tune, "measure_part", work)
    with pytest.raises(KeyboardInterrupt):
        cutec.tune(source, **options)
    journal = output.with_name("resumed.json.journal")
    assert journal.exists() and not output.exists()
    # The first size is known, the second one is measured.
    found = cutec.tune(source, **options)
    assert [launch for launch, _ in filter(None, measured)] == [0, 1]
    assert chosen(found) == chosen(json.loads(plan.read_text()))
    assert not journal.exists() and json.loads(output.read_text()) == found


def test_wrong_plans(source, plan):
    with pytest.raises(cutec.CompileError, match="cannot read the plan"):
        cutec.load(source, plan=plan.with_name("none.json"))
    source.write_text(SOURCE + "\n// changed\n")
    with pytest.warns(UserWarning, match="tune again"):
        cutec.load(source, arch="sm_80", cache=False, plan=plan)


def test_wrong_searches(source):
    with pytest.raises(cutec.CompileError, match="there is no bench `none`"):
        cutec.tune(source, bench="none", devices=["sim"], cache=False)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_any_executor_measures(source, plan, kind):
    if kind == "threads":
        executor = concurrent.futures.ThreadPoolExecutor(2)
    else:
        context = multiprocessing.get_context("spawn")
        executor = concurrent.futures.ProcessPoolExecutor(2, mp_context=context)
    steps = []
    with executor:
        options = {"devices": ["sim"], "arch": "sm_80", "cache": False, "progress": steps.append}
        found = cutec.tune(source, bench="sizes", executor=executor, parts=2, **options)
    # By the simulator's counts the same ones win wherever they are measured.
    assert chosen(found) == chosen(json.loads(plan.read_text()))
    assert len(steps) == 2 and steps[0].startswith("scale: n = 256: round 1")


def test_a_dask_cluster_measures(source, plan):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            executor = client.get_executor(pure=False)
            options = {"devices": ["sim"], "arch": "sm_80", "cache": False}
            found = cutec.tune(source, bench="sizes", executor=executor, parts=2, **options)
    assert chosen(found) == chosen(json.loads(plan.read_text()))
