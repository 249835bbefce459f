#!/usr/bin/env bash
# Builds llama.cpp's own llama-server and writes the tiny model that it serves in tests.
# Usage: tests/interop/build_llama_server.sh FOLDER
#
# The source comes with the sdist of llama-cpp-python. What is in the folder already is not made again; delete the
# folder to start over. It needs Debian's: cmake g++ make python3 python3-venv.
set -euo pipefail

release='llama-cpp-python==0.3.36 --hash=sha256:832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e'
writer='gguf==0.19.0'
template='Qwen3.5-4B.jinja'

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?name a folder to build into}"
folder=$(cd "$1" && pwd)
python=${PYTHON:-python3}
say() { printf 'llama-server: %s\n' "$*" >&2; }

work=$(mktemp -d "$folder/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [[ ! -x $folder/llama-server ]]; then
  for tool in cmake g++ make "$python"; do
    command -v "$tool" >/dev/null ||
      { say "$tool is missing: apt-get install cmake g++ make python3 python3-venv"; exit 2; }
  done
  say "fetching the source"
  "$python" -m venv "$work/pip"
  "$work/pip/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
    --require-hashes -r <(echo "$release") -d "$work"
  mkdir "$work/source"
  tar -xzf "$work"/llama_cpp_python-*.tar.gz -C "$work/source" --strip-components=3 --wildcards '*/vendor/llama.cpp'

  say "building, for five to seven minutes on two cores"
  # Without optimising much it compiles sooner, and the model is tiny; without GGML_NATIVE the folder can be moved to
  # any machine with AVX2; without the rest nothing is fetched and no test, example or web page is built.
  options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1)
  for name in BUILD_SHARED_LIBS GGML_CCACHE GGML_LLAMAFILE GGML_NATIVE GGML_OPENMP LLAMA_BUILD_APP LLAMA_BUILD_EXAMPLES \
    LLAMA_BUILD_TESTS LLAMA_BUILD_UI LLAMA_OPENSSL LLAMA_USE_PREBUILT_UI; do options+=("-D$name=OFF"); done
  cmake -S "$work/source" -B "$work/build" -G 'Unix Makefiles' "${options[@]}" >"$work/log" 2>&1 &&
    nice -n 10 cmake --build "$work/build" --target llama-server -j "${JOBS:-2}" >>"$work/log" 2>&1 ||
    { tail -n 40 "$work/log" >&2; say "the build failed; see above"; exit 1; }
  cp "$work/source/models/templates/$template" "$folder/chat_template.jinja"
  mv "$work/build/bin/llama-server" "$folder/llama-server"
fi

# The copy says which version of the script wrote the model that is there.
if ! cmp -s "$here/tiny_vision_model.py" "$folder/tiny_vision_model.py"; then
  say "writing the tiny model"
  "$python" -m venv "$work/gguf"
  "$work/gguf/bin/pip" install --quiet --disable-pip-version-check "$writer"
  "$work/gguf/bin/python" "$here/tiny_vision_model.py" "$folder"
  cp "$here/tiny_vision_model.py" "$folder/tiny_vision_model.py"
fi
