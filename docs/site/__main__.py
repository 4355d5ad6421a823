"""The site's builder: `python -m docs.site` writes `build/site`, and fails where there is anything to warn of."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import yaml

from docs.site.addresses import UNKNOWN, forget_address
from docs.site.navigation import settings_of_the_navigation
from docs.site.pages import ROOT, BrokenLinkError, write_pages

CONFIG = Path(__file__).with_name("site.yml")


def main() -> int:
    """Build the site, and return the exit code of the generator."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build", help="the folder for `pages` and `site`")
    parser.add_argument(
        "--url",
        help="the address of the site, for canonical links, llms.txt and sitemap.xml; without it links are relative",
    )
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
    config["site_url"] = arguments.url.rstrip("/") + "/" if arguments.url else UNKNOWN
    file = out / CONFIG.name
    file.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(file)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)  # noqa: S603
    if done.returncode == 0:
        if not arguments.url:
            forget_address(out / "site")
        sys.stdout.write(f"{_how_to_look(out / 'site')}\n")
    return done.returncode


def _how_to_look(site: Path) -> str:
    here = site.relative_to(Path.cwd()) if site.is_relative_to(Path.cwd()) else site
    command = f"{sys.executable} -m http.server 8000 --bind 127.0.0.1 --directory {here}"
    return f"To read it with its search, which a page opened from disk does not load:\n  {command}\n  http://127.0.0.1:8000"


if __name__ == "__main__":
    sys.exit(main())
