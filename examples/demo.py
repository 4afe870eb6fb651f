"""What `make demo` runs: train a classifier, ask it why, look at the reasons and judge them. Run again, it is quick."""

import subprocess
import sys
from pathlib import Path

OUT = Path("runs/demo")
VERIDICAL = str(Path(sys.executable).with_name("veridical"))
METHODS = ["attention", "integrated-gradients", "occlusion"]
# As much as two cores do in two minutes; `--data reviews` alone trains on all 8,530 sentences, and gets further.
FEW = ["--data", "reviews:train[:1500]", "--dev", "reviews:dev[:200]", "--epochs", 1, "--checks", 1, "--batch-size", 16]


def run(*arguments: object) -> None:
    command = [str(argument) for argument in arguments]
    shown = [f'"{part}"' if " " in part or "[" in part else part for part in command]
    print(f"\n$ veridical {' '.join(shown)}", flush=True)
    subprocess.run([VERIDICAL, *command], check=True)


def main() -> None:
    model, why, page, audit = OUT / "model", OUT / "why.parquet", OUT / "page.html", OUT / "audit"
    run("train", "--model", "embedded", "--pooling", "mean", *FEW, "--out", model)
    run("predict", model, "A gorgeous, witty, seductive movie.", "Two hours I will never get back.")
    for method in METHODS:
        run("explain", model, "--data", "reviews:test[:12]", "--method", method, "--out", why)
    run("show", why, "--top", 5, "--limit", 2)
    run("show", why, "--html", page)
    run("audit", model, "--data", "reviews:test[:10]", "--methods", ",".join(METHODS), "--timed", 3, "--out", audit)
    print(f"\nOpen these pages in a browser:\n  the reasons          {page.resolve()}")
    print(f"  can they be trusted? {(audit / 'card.html').resolve()}")


if __name__ == "__main__":
    main()
