"""Runs the commands of the README, so that it does not promise what does not work.

Links to files must lead somewhere. Every block of `sh` is run, line by line in one shell, except lines that begin with `make` (they build; CI runs the same). The
build folder that the README names is replaced by the one that is tested.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
README_BUILD = "build/release"


def blocks(text):
    """The shell blocks of a Markdown text, without lines that build."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        lines = [line for line in block.splitlines() if not line.startswith("make ")]
        if any(line.strip() for line in lines):
            yield "\n".join(lines) + "\n"


def dead_links(text):
    """Relative links of a Markdown text that lead nowhere."""
    targets = re.findall(r"\]\(([\w./:-]+)[)#]", text)
    return [target for target in targets if "://" not in target and not (ROOT / target).exists()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    readme = (ROOT / "README.md").read_text()
    for target in dead_links(readme):
        print(f"the README links to {target}, which does not exist")
        return 1
    script = "".join(blocks(readme)).replace(README_BUILD, str(build))
    if str(build) not in script:
        print("the README has no command that uses the build")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        # What the commands write goes to a folder of its own; what they read is the repository's.
        for name in ("models", "tests"):
            pathlib.Path(folder, name).symlink_to(ROOT / name)
        done = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
