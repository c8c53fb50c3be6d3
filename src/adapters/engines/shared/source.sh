#!/bin/sh
# Reads the source from its parts into host, port, user, password and source_database, each empty where there is none,
# and has the function that reads them from SOURCE_URL. It is read by the programs that copy, behind shared/start.sh;
# they say which URLs they take. The locale must be C.

. "$(dirname "$0")/../shared/decode.sh"

# The source, by its parts or by its URL. A branch that begins empty takes its database's name alone.
unread() { [ "$reads_source" = 0 ] || fail "$1"; }
host=${SOURCE_HOST-}
port=${SOURCE_PORT-}
user=${SOURCE_USER-}
password=${SOURCE_PASSWORD-}
source_database=${SOURCE_DATABASE-}
read_url() {
  url=${SOURCE_URL#*://}
  url=${url%%#*}
  url=${url%%\?*}
  place=${url%%/*}
  path=${url#"$place"}
  login=
  case $place in
    *@*)
      login=${place%@*}
      place=${place##*@}
      ;;
  esac
  case $path in *@*) unread "the source's URL has an @ behind its host: it must be written as %40" ;; esac
  case $login in
    *:*)
      decode "${login#*:}"
      password=$text
      ;;
  esac
  decode "${login%%:*}"
  user=$text
  decode "${path#/}"
  source_database=$text
  case $place in
    *,*) unread "the source's URL names several hosts: it must name one" ;;
    "["*"]":*) port=${place##*:} ;;
    "["*"]") ;;
    *:*) port=${place##*:} ;;
  esac
  case $place in
    "["*) host=${place#"["} && host=${host%%"]"*} ;;
    *)
      decode "${place%%:*}"
      host=$text
      ;;
  esac
}
