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
