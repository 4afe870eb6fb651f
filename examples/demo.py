"""What `make demo` runs: train a classifier, ask it why, and look at the reasons. Run again, it is done at once."""

import subprocess
import sys
from pathlib import Path

OUT = Path("runs/demo")
VERIDICAL = str(Path(sys.executable).with_name("veridical"))
METHODS = ["attention", "input-x-gradient", "integrated-gradients", "occlusion"]


def run(*arguments: object) -> None:
    command = [str(argument) for argument in arguments]
    shown = [f'"{part}"' if " " in part or "[" in part else part for part in command]
    print(f"\n$ veridical {' '.join(shown)}", flush=True)
    subprocess.run([VERIDICAL, *command], check=True)


def main() -> None:
    model, why, page = OUT / "model", OUT / "why.parquet", OUT / "page.html"
    run("train", "--data", "reviews:train[:2000]", "--model", "embedded", "--epochs", 2, "--checks", 1, "--out", model)
    run("predict", model, "A gorgeous, witty, seductive movie.", "Two hours I will never get back.")
    for method in METHODS:
        run("explain", model, "--data", "reviews:test[:24]", "--method", method, "--out", why)
    run("show", why, "--top", 5, "--limit", 2)
    run("show", why, "--html", page)
    print(f"\nOpen this page in a browser: {page.resolve()}")


if __name__ == "__main__":
    main()
