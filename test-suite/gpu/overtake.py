"""How often loads from shared memory that are under way are overtaken by what is written there next, on this machine's GPU.

Launches `overtake.cute` in each of its ways, with and without a proxy fence behind the loads, and prints how many launches of so many
read something wrong, and how many numbers. It needs PyTorch and the wheel, and a GPU of sm_90.
"""

import argparse
import pathlib

import cutec
import torch

WAYS = {
    0: "a bulk copy, behind an mbarrier",
    1: "a bulk copy, behind the barrier of the block",
    2: "stores of another warp, behind an mbarrier",
    3: "cp.async of another warp, behind an mbarrier",
    4: "st.async of another block, behind an mbarrier told with the scope of the block",
    5: "st.async of another block, behind an mbarrier told with the scope of the cluster",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=264)
    arguments = parser.parse_args()
    numbers = arguments.rounds * 1024
    x = torch.arange(numbers, dtype=torch.int32, device="cuda").reshape(arguments.rounds, 1024)
    overtake = cutec.load(str(pathlib.Path(__file__).with_suffix(".cute")), arch="sm_90a")["overtake"]
    print(f"{torch.cuda.get_device_name()}: {arguments.launches} launches, each of {numbers * arguments.blocks} numbers read")
    for by, way in WAYS.items():
        for fence in [False, True]:
            for busy in [1, 8, 32]:
                kernel = overtake.specialize(by=by, fence=fence, busy=busy)
                launches, wrong = 0, 0
                for _ in range(arguments.launches):
                    counts = torch.zeros(arguments.blocks, dtype=torch.int32, device="cuda")
                    kernel(x, counts)
                    found = int(counts.sum())
                    launches += found != 0
                    wrong += found
                print(f"{way}; {'a fence' if fence else 'no fence'}; {busy} slow loads ahead: {launches} launches, {wrong} numbers")


if __name__ == "__main__":
    main()
