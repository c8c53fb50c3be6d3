#!/bin/sh
# The function that decodes a part of a URL; it is read by the programs that copy, and needs their `fail`. The locale
# must be C, since the text is taken byte by byte.

# Decodes a part of a URL into $text.
decode() {
  text=
  rest=$1
  while :; do
    case $rest in
      *%*) ;;
      *) text=$text$rest && return ;;
    esac
    text=$text${rest%%%*}
    rest=${rest#*%}
    hex=${rest%"${rest#??}"}
    case $hex in
      00 | [!0-9A-Fa-f]? | ?[!0-9A-Fa-f] | ?) fail "the source's URL is not percent-encoded" ;;
      ??) ;;
      *) fail "the source's URL is not percent-encoded" ;;
    esac
    sign=$(printf '%b_' "\\0$(printf %03o "0x$hex")")
    text=$text${sign%_}
    rest=${rest#??}
  done
}
