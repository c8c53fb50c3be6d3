/**
 * The text form of IP addresses, written and read.
 *
 * Not here: how addresses travel (scalar-codecs.ts).
 */

/** Text form of an address's octets: dotted for 4, RFC 5952 for 16 (IPv4-mapped as `::ffff:1.2.3.4`). */
export const formatIp = (octets: Uint8Array): string => {
  if (octets.length === 4) return octets.join(".")
  const groups = Array.from({ length: 8 }, (_, i) => ((octets[2 * i] ?? 0) << 8) | (octets[2 * i + 1] ?? 0))
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `::ffff:${octets.subarray(12).join(".")}`
  }
  const run = maxZeroRun(groups)
  const hex = (part: ReadonlyArray<number>): string => part.map((group) => group.toString(16)).join(":")
  return run.length < 2
    ? hex(groups)
    : `${hex(groups.slice(0, run.start))}::${hex(groups.slice(run.start + run.length))}`
}

const maxZeroRun = (groups: ReadonlyArray<number>): { readonly start: number; readonly length: number } => {
  let best = { start: 0, length: 0 }
  let start = 0
  for (let i = 0; i <= groups.length; i++) {
    if (groups[i] === 0) continue
    if (i - start > best.length) best = { start, length: i - start }
    start = i + 1
  }
  return best
}

const parseV4 = (text: string): ReadonlyArray<number> | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4) return undefined
  const octets = parts.map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256))
  return octets.every((octet) => octet < 256) ? octets : undefined
}

const parseGroups = (text: string): ReadonlyArray<number> | undefined => {
  if (text === "") return []
  const octets: Array<number> = []
  const parts = text.split(":")
  for (const [i, part] of parts.entries()) {
    if (i === parts.length - 1 && part.includes(".")) {
      const v4 = parseV4(part)
      if (v4 === undefined) return undefined
      octets.push(...v4)
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined
      const group = Number.parseInt(part, 16)
      octets.push(group >> 8, group & 0xff)
    }
  }
  return octets
}

/** The 4 or 16 octets of an address, or `undefined` if the text is none (zones such as `%eth0` cannot travel). */
export const parseIp = (text: string): Uint8Array | undefined => {
  if (!text.includes(":")) {
    const v4 = parseV4(text)
    return v4 && Uint8Array.from(v4)
  }
  const halves = text.split("::")
  // Dotted octets may stand only at the very end.
  if (halves.length > 1 && halves[0]?.includes(".")) return undefined
  const [head, tail] = halves.map(parseGroups)
  if (head === undefined || halves.length > 2) return undefined
  if (halves.length === 1) return head.length === 16 ? Uint8Array.from(head) : undefined
  if (tail === undefined || head.length + tail.length > 14) return undefined
  return Uint8Array.from([...head, ...Array.from({ length: 16 - head.length - tail.length }, () => 0), ...tail])
}
