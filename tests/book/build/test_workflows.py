"""The workflows and the metadata: they parse, they agree, and each fault is seen."""

import copy
import os
import re
import subprocess

import pytest
import yaml
from support.helpers import ROOT

import rtx_lib

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


class UniqueKeys(yaml.SafeLoader):
    """YAML that refuses a key given twice, as GitHub does."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.YAMLError(f"key given twice: {twice}")
        return super().construct_mapping(node, deep)


def read(path):
    """A workflow with its triggers under "on" (YAML 1.1 reads that word as true)."""
    workflow = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)
    workflow["on"] = workflow.pop(True)
    return workflow


def faults(workflow):
    """What GitHub would refuse, or what gives a job more than it needs."""
    found = []
    if workflow.get("permissions") != {"contents": "read"}:
        found.append("permissions at the top are not contents: read")
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        if "timeout-minutes" not in job:
            found.append(f"{name}: no timeout")
        needs = job.get("needs", [])
        for other in [needs] if isinstance(needs, str) else needs:
            if other not in jobs:
                found.append(f"{name}: needs {other}, which does not exist")
        write = {key for key, value in job.get("permissions", {}).items() if value == "write"}
        if write - {"pages", "id-token"} or (write and job.get("environment", {}).get("name") != "github-pages"):
            found.append(f"{name}: may write {sorted(write)}")
        for step in job["steps"]:
            if ("uses" in step) == ("run" in step):
                found.append(f"{name}: a step that has not exactly one of uses and run")
            if "uses" in step and not re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]):
                found.append(f"{name}: {step['uses']} is no official action at a major version")
            command = step.get("run", "")
            for target in re.findall(r"\bmake ([a-z-]+)", command):
                if not re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.M):
                    found.append(f"{name}: make {target}: no such target")
            for path in re.findall(r"(?:^|\s)(\.ci/\S+|tests/\S+)", command):
                if not (ROOT / path).exists():
                    found.append(f"{name}: {path} does not exist")
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_is_well_formed(path):
    assert faults(read(path)) == []


def test_every_planted_fault_of_a_workflow_is_seen():
    good = read(ROOT / ".github" / "workflows" / "publish.yml")

    def planted(change):
        workflow = copy.deepcopy(good)
        change(workflow, workflow["jobs"]["build"])
        return faults(workflow)

    assert planted(lambda w, job: w.update(permissions={"contents": "write"}))
    assert planted(lambda w, job: job.pop("timeout-minutes"))
    for change in ({"needs": "nobody"}, {"permissions": {"contents": "write"}}):
        assert planted(lambda w, job, change=change: job.update(change))
    for step in ({"name": "x"}, {"uses": "someone/action@main"}, {"run": "make bok"}, {"run": ".ci/ran"}):
        assert planted(lambda w, job, step=step: job["steps"].append(step))
    with pytest.raises(yaml.YAMLError, match="twice"):
        yaml.load("a: 1\na: 2\n", Loader=UniqueKeys)


def test_workflows_run_when_they_should():
    ci, weekly, publish = (read(ROOT / ".github" / "workflows" / f"{x}.yml") for x in ("ci", "weekly", "publish"))
    assert {"push", "pull_request"} <= set(ci["on"]) and "schedule" in weekly["on"]
    assert publish["on"] == {"push": {"tags": ["v*"]}}
    text = (ROOT / ".github" / "workflows" / "weekly.yml").read_text()
    assert "actions/cache" not in text and "cache:" not in text
    assert "make book PROFILE=book STRICT=1" in text, "the weekly run is strict about findings"
    pins = "".join(path.read_text() for path in (ROOT / "tests" / "book" / "notebooks").glob("colab-*.txt"))
    setup = next(s for s in weekly["jobs"]["colab"]["steps"] if "setup-python" in s.get("uses", ""))
    assert set(setup["with"]["python-version"].split()) == set(re.findall(r"Python (3\.\d+)", pins)), "Colab's own"
    commands = [step.get("run", "") for step in publish["jobs"]["build"]["steps"]]
    check = next(i for i, command in enumerate(commands) if "publish-check" in command)
    assert check < next(i for i, command in enumerate(commands) if "make book" in command)
    cache = next(s for s in ci["jobs"]["everything"]["steps"] if s.get("uses", "").startswith("actions/cache@"))
    named = re.findall(r"'([^']+)'", cache["with"]["key"])
    assert named and all((ROOT / name).is_file() for name in named)


def test_the_local_run_allows_no_skipping():
    script = ROOT / ".ci" / "run"
    text = script.read_text()
    assert os.access(script, os.X_OK) and "set -euo pipefail" in text
    assert "RTX_REQUIRE_ALL=1" in text and "make test" in text and "apt-get" not in text
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


CITATION = yaml.load((ROOT / "CITATION.cff").read_text(encoding="utf-8"), Loader=UniqueKeys)


def test_one_version_everywhere():
    """The newest entry of the changelog counts."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$", changelog, flags=re.M)
    assert rtx_lib.__version__ == CITATION["version"] == entries[0]
    assert f"[{rtx_lib.__version__}]: https://github.com/" in changelog


def test_citation_has_what_the_format_asks_for():
    citation = CITATION
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0" and citation["type"] in ("software", "dataset")
    assert all(set(author) <= {"name", "website", "given-names", "family-names"} for author in citation["authors"])
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", citation["date-released"])
    assert citation["repository-code"].startswith("https://github.com/") and citation["license"] == "MIT"


@pytest.mark.parametrize("name", ["ci", "publish", "weekly"])
def test_workflows_fetch_all_data_that_the_pages_use(name):
    """A site that was published without it would show other numbers than ours."""
    assert "make data TRY=\n" in (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
