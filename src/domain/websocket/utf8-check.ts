/**
 * Checks bytes that come in parts for being UTF-8 (RFC 3629): the first byte that can no longer become UTF-8 is
 * noticed, wherever the parts are cut. Keeps no text.
 */

/** Bounds of the byte behind the first of a sequence, where these are narrower than 0x80 to 0xbf. */
const secondBounds = (first: number): readonly [low: number, high: number] => {
  switch (first) {
    case 0xe0:
      return [0xa0, 0xbf]
    case 0xed:
      return [0x80, 0x9f]
    case 0xf0:
      return [0x90, 0xbf]
    case 0xf4:
      return [0x80, 0x8f]
    default:
      return [0x80, 0xbf]
  }
}

/** Bytes that must follow the first byte of a sequence; -1: no sequence begins with it. */
const followers = (first: number): number => {
  if (first < 0x80) return 0
  if (first < 0xc2 || first > 0xf4) return -1
  if (first < 0xe0) return 1
  return first < 0xf0 ? 2 : 3
}

export class Utf8Check {
  #missing = 0
  #low = 0x80
  #high = 0xbf

  /** Whether the text may end here. */
  get isWhole(): boolean {
    return this.#missing === 0
  }

  /** Takes the next part, `bytes[from..until)`. `false`: it is no UTF-8. */
  take(bytes: Uint8Array, from: number, until: number): boolean {
    for (let at = from; at < until; at++) {
      const byte = bytes[at] ?? 0
      if (this.#missing > 0 ? !this.#goOn(byte) : byte >= 0x80 && !this.#begin(byte)) return false
    }
    return true
  }

  #begin(first: number): boolean {
    this.#missing = followers(first)
    if (this.#missing < 0) return false
    ;[this.#low, this.#high] = secondBounds(first)
    return true
  }

  #goOn(byte: number): boolean {
    if (byte < this.#low || byte > this.#high) return false
    this.#missing--
    this.#low = 0x80
    this.#high = 0xbf
    return true
  }
}
