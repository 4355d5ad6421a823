"""The site's builder: `python -m docs.site` writes `build/site`, and fails where there is anything to warn of."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import yaml

from docs.site.navigation import settings_of_the_navigation
from docs.site.pages import ROOT, BrokenLinkError, write_pages

CONFIG = Path(__file__).with_name("site.yml")


def main() -> int:
    """Build the site, and return the exit code of the generator."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build", help="the folder for `pages` and `site`")
    parser.add_argument("--url", help="the address that the site will have; it stands in llms.txt and sitemap.xml")
    parser.add_argument("--source", default="", help="the address that files are linked to; without it, their paths")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    try:
        write_pages(out / "pages", source=arguments.source)
    except BrokenLinkError as error:
        parser.exit(1, f"{error}\n")
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    navigation = settings_of_the_navigation()
    config["nav"] = navigation["nav"]
    config["plugins"].append({"llmstxt": navigation["llmstxt"]})
    if arguments.url:
        config["site_url"] = arguments.url.rstrip("/") + "/"
    file = out / CONFIG.name
    file.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(file)]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
