# Make .venv and keep it in step with the requirements: sh book/rtx_book/build/environment.sh [--tests]
# PYTHON names who makes it; else python3 does, or the newest that is supported. TORCH_INDEX: where torch comes from.
# The stamp is written last: an installation that was interrupted is taken up again by the next call.
set -eu
cd "$(dirname "$0")/../../.."
fail() { echo "$1" >&2; exit 1; }
own() { if [ -e .venv/Scripts ]; then .venv/Scripts/python.exe "$@"; else .venv/bin/python "$@"; fi; }
pip() { own -m pip install --quiet --disable-pip-version-check "$@" || fail "pip failed: it says above why."; }

if [ "${1-}" = --tests ]; then needed=tests/requirements.txt; else needed=requirements.txt; fi
probe='import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2], end="")'
for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10} none; do
    version=$("$python" -c "$probe" 2>/dev/null) || continue
    case $version in 3.1[0-4]) break ;; esac # for these every pinned package has a wheel
done
[ "$python" != none ] || fail "This book needs Python 3.10 to 3.14 with venv; name one: make PYTHON=python3.12"

content="Python $version, ${TORCH_INDEX-}, $PWD, $(cat requirements.txt tests/requirements.txt pyproject.toml | cksum)"
case $(own -c "" >/dev/null 2>&1 && cat .venv/rtx-stamp 2>/dev/null) in "$content, tests/requirements.txt" | "$content, $needed") exit 0 ;; esac
rm -f .venv/rtx-stamp
if [ "$(own -c "import pip; $probe" 2>/dev/null)" != "$version" ]; then
    echo "Creating .venv with $(command -v "$python"), Python $version"
    "$python" -m venv --clear .venv
fi
echo "Installing $needed (the first time this takes minutes)"
[ -z "${TORCH_INDEX-}" ] || pip --index-url "$TORCH_INDEX" "$(grep '^torch==' requirements.txt)"
pip -r "$needed" -e .
echo "$content, $needed" >.venv/rtx-stamp
