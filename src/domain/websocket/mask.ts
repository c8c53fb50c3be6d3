/**
 * The mask of WebSocket frames (RFC 6455 §5.3): XOR with four bytes that repeat. A key is a number whose lowest byte is
 * the mask's first.
 */

/** From so many bytes on, four of them are masked at once. */
const byWords = 160

/** The key as of the mask's byte `by`: a mask that begins in the middle of a payload. */
export const turned = (key: number, by: number): number => {
  const bits = (by & 3) * 8
  return bits === 0 ? key : (key >>> bits) | (key << (32 - bits))
}

/** Masks or unmasks `bytes[from..until)` where they are. `key`: as of the byte at `from`. */
export const mask = (bytes: Uint8Array, from: number, until: number, key: number): void => {
  if (key === 0) return
  if (until - from < byWords) return maskBytes(bytes, from, until, key)
  const start = from + (-(bytes.byteOffset + from) & 3)
  maskBytes(bytes, from, start, key)
  const aligned = turned(key, start - from)
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, (until - start) >> 2)
  maskWords(words, aligned)
  maskBytes(bytes, start + words.length * 4, until, aligned)
}

/** Eight words at a time: the loop costs as much as the words. */
const maskWords = (words: Int32Array, key: number): void => {
  const count = words.length
  let at = 0
  for (; at + 7 < count; at += 8) {
    words[at] = (words[at] ?? 0) ^ key
    words[at + 1] = (words[at + 1] ?? 0) ^ key
    words[at + 2] = (words[at + 2] ?? 0) ^ key
    words[at + 3] = (words[at + 3] ?? 0) ^ key
    words[at + 4] = (words[at + 4] ?? 0) ^ key
    words[at + 5] = (words[at + 5] ?? 0) ^ key
    words[at + 6] = (words[at + 6] ?? 0) ^ key
    words[at + 7] = (words[at + 7] ?? 0) ^ key
  }
  for (; at < count; at++) words[at] = (words[at] ?? 0) ^ key
}

const maskBytes = (bytes: Uint8Array, from: number, until: number, key: number): void => {
  const k0 = key & 255
  const k1 = (key >>> 8) & 255
  const k2 = (key >>> 16) & 255
  const k3 = key >>> 24
  let at = from
  for (; at + 3 < until; at += 4) {
    bytes[at] = (bytes[at] ?? 0) ^ k0
    bytes[at + 1] = (bytes[at + 1] ?? 0) ^ k1
    bytes[at + 2] = (bytes[at + 2] ?? 0) ^ k2
    bytes[at + 3] = (bytes[at + 3] ?? 0) ^ k3
  }
  if (at < until) bytes[at] = (bytes[at] ?? 0) ^ k0
  if (at + 1 < until) bytes[at + 1] = (bytes[at + 1] ?? 0) ^ k1
  if (at + 2 < until) bytes[at + 2] = (bytes[at + 2] ?? 0) ^ k2
}
