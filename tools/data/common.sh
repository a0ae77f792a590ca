# What the scripts of data sets share. Sourced by them, after they have set `name`.

npy_header_bytes=128

fail() {
  echo "$name: $1" >&2
  exit 1
}

# The comment at the head of the script, which is its help.
show_help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# arguments "$@": sets `folder` and, where the script takes it, `from`.
arguments() {
  folder=$(dirname "$0")/../../data/$name
  local is_given=
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help)
        show_help
        exit 0
        ;;
      --from)
        [ -n "${from+known}" ] && [ -n "${2:-}" ] || break
        from=$2
        shift
        ;;
      -*) break ;;
      *)
        [ -z "$is_given" ] || break
        folder=$1 is_given=1
        ;;
    esac
    shift
  done
  [ $# -eq 0 ] && return
  echo "$name: cannot follow '$*'; how it is called:" >&2
  show_help >&2
  exit 2
}

# is_made SPLIT COUNT: whether the array of so many tokens is there.
is_made() {
  local path="$folder/$1.npy"
  [ -f "$path" ] && [ "$(wc -c <"$path")" -eq $((npy_header_bytes + $2)) ]
}

# npy_header COUNT: format 1.0 of .npy: magic, length of the rest of the header (118), that rest.
npy_header() {
  printf '\x93NUMPY\x01\x00\x76\x00'
  printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($1,), }"
}

# publish FILE...: moves files to the folder, each whole or not at all, under their own names.
publish() {
  mkdir -p "$folder" || fail "cannot make the folder $folder"
  local file
  for file; do
    # A rename is atomic only within one file system, so the copy comes first.
    local temporary="$folder/.${file##*/}.$$"
    cp "$file" "$temporary" && mv "$temporary" "$folder/${file##*/}" ||
      { rm -f "$temporary"; fail "cannot write $folder/${file##*/}"; }
  done
}

# download URL FILE SHA256: FILE is there only when it is whole. What an interrupted download left
# in FILE.part is gone on from. LOOPLESS_MIRROR, a URL, stands in for all of URL but its last part.
download() {
  local url=$1 file=$2 expected=$3 protocol==https status=0
  if [ -n "${LOOPLESS_MIRROR:-}" ]; then
    url=$LOOPLESS_MIRROR/${url##*/} protocol==http,https
  fi
  command -v curl >/dev/null || fail "curl: not found; install it (apt-get install curl)"
  echo "$name: downloading $url"
  local options=(--fail --location --proto "$protocol" --proto-redir "$protocol" --retry 2
    --continue-at - --output "$file.part" --write-out '%{http_code}')
  local code reason
  if [ -t 2 ]; then
    code=$(curl "${options[@]}" --progress-bar "$url") || status=$?
    reason="curl ended with status $status"
  else
    code=$(curl "${options[@]}" --silent --show-error "$url" 2>"$file.error") || status=$?
    reason=$(tail -n 1 "$file.error")
    rm -f "$file.error"
  fi
  # 416: the part is all there is; its checksum decides.
  if [ $status != 0 ] && [ "$code" != 416 ]; then
    rmdir --ignore-fail-on-non-empty "$(dirname "$file")"
    fail "$url: cannot be fetched ($reason); run this again to go on"
  fi
  local got
  got=$(sha256sum <"$file.part")
  if [ "${got%% *}" != "$expected" ]; then
    rm -f "$file.part"
    fail "$url: has another checksum than expected and was removed; run this again"
  fi
  mv "$file.part" "$file"
}

# idx_images FILE: checks an IDX file of 28 x 28 images, plain or gzip; prints how many they are.
idx_images() {
  local header size
  [ -f "$1" ] || fail "$1: does not exist"
  header=$(gzip -dcf "$1" 2>/dev/null | od -An -tx1 -N16 | tr -d ' \n')
  [[ $header =~ ^00000803([0-9a-f]{8})0000001c0000001c$ ]] ||
    fail "$1: is no IDX file of 28 x 28 images"
  local count=$((16#${BASH_REMATCH[1]}))
  size=$(gzip -dcf "$1" 2>/dev/null | wc -c) || fail "$1: is damaged; fetch it again"
  [ "$size" -eq $((16 + 784 * count)) ] ||
    fail "$1: holds $((size - 16)) bytes of the $((784 * count)) of its $count images"
  echo "$count"
}

# find_idx FOLDER NAME: prints the path of FOLDER/NAME or FOLDER/NAME.gz; nothing if neither is.
find_idx() {
  local path
  for path in "$1/$2" "$1/$2.gz"; do
    [ ! -f "$path" ] || { echo "$path"; return; }
  done
}

# images_to_npy IDX SPLIT FIRST COUNT: writes images as $work/SPLIT.npy.
images_to_npy() {
  (
    set +o pipefail # head ends the pipe early where not all images are wanted
    npy_header $((784 * $4))
    gzip -dcf "$1" | tail -c +$((17 + 784 * $3)) | head -c $((784 * $4))
  ) >"$work/$2.npy" 2>/dev/null
}

# image_json: writes $work/image.json, from which the tools know what an image is.
image_json() { echo '{"height": 28, "width": 28, "patch": 1}' >"$work/image.json"; }
