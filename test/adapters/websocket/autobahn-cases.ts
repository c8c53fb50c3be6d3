/**
 * The cases of the Autobahn testsuite 0.8 (its published list) as a table: families 1 to 7, 9 and 10. Families 12 and
 * 13 are about compression, which is not offered. The suite expects an echo of texts too; this side leaves texts out
 * after it has checked them, so that a text counts as answered when it was left out.
 */

import type { RawFrame } from "./support/raw-peer.ts"

export interface AutobahnCase {
  readonly id: string
  readonly what: string
  readonly send: ReadonlyArray<RawFrame>
  /** How the bytes are cut: not at all, in frames, or in pieces of so many bytes. */
  readonly chop?: "frames" | number
  /** Frames that come back, without the close frame: opcode and payload. */
  readonly back: ReadonlyArray<readonly [opcode: number, payload: Uint8Array]>
  /** Text messages that were valid. */
  readonly texts: number
  /** The code of the close frame that comes back. `undefined`: all is well, and the peer closes with 1000. */
  readonly close?: number
}

const [continuation, text, binary, close, ping, pong] = [0, 1, 2, 8, 9, 10]
const utf8 = (value: string): Uint8Array => Buffer.from(value, "utf8")
const hex = (value: string): Uint8Array => Buffer.from(value.replaceAll(" ", ""), "hex")
const star = (length: number): Uint8Array => Buffer.alloc(length, "*")
const random = (length: number): Uint8Array => Buffer.alloc(length, Buffer.from([0xfe, 0x00, 0xff, 0x81, 0x7f]))
const hello = utf8("Hello, world!")

type Rest = Partial<AutobahnCase>
const make = (id: string, what: string, send: ReadonlyArray<RawFrame>, rest: Rest = {}): AutobahnCase => ({
  id,
  what,
  send,
  back: [],
  texts: 0,
  ...rest
})

/** A message in fragments of `size` bytes. */
const fragments = (opcode: number, payload: Uint8Array, size: number): ReadonlyArray<RawFrame> => {
  const count = Math.max(1, Math.ceil(payload.length / size))
  return Array.from({ length: count }, (_, index) => ({
    opcode: index === 0 ? opcode : continuation,
    fin: index === count - 1,
    payload: payload.subarray(index * size, (index + 1) * size)
  }))
}

const sizes = [0, 125, 126, 127, 128, 65_535, 65_536, 65_536]
const framing = [
  ...sizes.map((size, index) =>
    make(`1.1.${index + 1}`, `text of ${size} bytes`, [{ opcode: text, payload: star(size) }], {
      texts: 1,
      ...(index === 7 ? { chop: 997 } : {})
    })
  ),
  ...sizes.map((size, index) =>
    make(`1.2.${index + 1}`, `binary message of ${size} bytes`, [{ opcode: binary, payload: random(size) }], {
      back: [[binary, random(size)]],
      ...(index === 7 ? { chop: 997 } : {})
    })
  )
]

const tenPings = Array.from({ length: 10 }, (_, index) => ({ opcode: ping, payload: utf8(`payload-${index}`) }))
const tenPongs = tenPings.map(({ payload }) => [pong, payload] as const)
const pings = [
  make("2.1", "ping without payload", [{ opcode: ping }], { back: [[pong, utf8("")]] }),
  make("2.2", "ping with text", [{ opcode: ping, payload: hello }], { back: [[pong, hello]] }),
  make("2.3", "ping with bytes that are no text", [{ opcode: ping, payload: hex("00fffefdfcfbfa00ff") }], {
    back: [[pong, hex("00fffefdfcfbfa00ff")]]
  }),
  make("2.4", "ping of 125 bytes", [{ opcode: ping, payload: random(125) }], { back: [[pong, random(125)]] }),
  make("2.5", "ping of 126 bytes", [{ opcode: ping, payload: random(126) }], { close: 1002 }),
  make("2.6", "ping of 125 bytes, byte by byte", [{ opcode: ping, payload: random(125) }], {
    back: [[pong, random(125)]],
    chop: 1
  }),
  make("2.7", "pong that nobody asked for", [{ opcode: pong }]),
  make("2.8", "pong with payload that nobody asked for", [{ opcode: pong, payload: hello }]),
  make("2.9", "pong that nobody asked for, then a ping", [{ opcode: pong, payload: hello }, { opcode: ping }], {
    back: [[pong, utf8("")]]
  }),
  make("2.10", "ten pings", tenPings, { back: tenPongs }),
  make("2.11", "ten pings, byte by byte", tenPings, { back: tenPongs, chop: 1 })
]

const small: RawFrame = { opcode: text, payload: hello }
const reserved = [
  make("3.1", "text with RSV 1", [{ ...small, rsv: 1 }], { close: 1002 }),
  ...([undefined, "frames", 1] as const).map((chop, index) =>
    make(
      `3.${index + 2}`,
      `text, then text with RSV ${index + 2}`,
      [small, { ...small, rsv: index + 2 }, { opcode: ping }],
      { texts: 1, close: 1002, ...(chop === undefined ? {} : { chop }) }
    )
  ),
  make("3.5", "binary message with RSV 5", [{ opcode: binary, payload: hello, rsv: 5 }], { close: 1002 }),
  make("3.6", "ping with RSV 6", [{ opcode: ping, payload: hello, rsv: 6 }], { close: 1002 }),
  make("3.7", "close with RSV 7", [{ opcode: close, payload: hex("03e8"), rsv: 7 }], { close: 1002 })
]

/** The five forms of a reserved opcode in the suite. */
const reservedOpcode = (family: string, first: number): ReadonlyArray<AutobahnCase> => [
  make(`${family}.1`, `opcode ${first}`, [{ opcode: first }], { close: 1002 }),
  make(`${family}.2`, `opcode ${first + 1} with payload`, [{ opcode: first + 1, payload: hello }], { close: 1002 }),
  ...[undefined, "frames" as const, 1].map((chop, index) =>
    make(
      `${family}.${index + 3}`,
      `text, then opcode ${first + index + 2}, then ping`,
      [small, { opcode: first + index + 2, ...(index > 0 ? { payload: hello } : {}) }, { opcode: ping }],
      { texts: 1, close: 1002, ...(chop === undefined ? {} : { chop }) }
    )
  )
]
const opcodes = [...reservedOpcode("4.1", 3), ...reservedOpcode("4.2", 11)]

const [first, second] = [
  { opcode: text, fin: false, payload: utf8("fragment1") },
  { opcode: continuation, payload: utf8("fragment2") }
]
const inside = { opcode: ping, payload: utf8("ping payload") }
const insideBack = [[pong, utf8("ping payload")]] as const
const chops = [undefined, "frames", 1] as const
/** A case in the three forms of its family: at once, frame by frame, byte by byte. */
const chopped = (from: number, what: string, send: ReadonlyArray<RawFrame>, rest: Rest): ReadonlyArray<AutobahnCase> =>
  chops.map((chop, index) =>
    make(`5.${from + index}`, what, send, { ...rest, ...(chop === undefined ? {} : { chop }) })
  )
const orphan = { opcode: continuation, payload: utf8("non-continuation payload") }
const fivePings = [
  { opcode: text, fin: false, payload: utf8("fragment1") },
  { opcode: continuation, fin: false, payload: utf8("fragment2") },
  { opcode: ping, payload: utf8("pongme 1") },
  { opcode: continuation, fin: false, payload: utf8("fragment3") },
  { opcode: continuation, fin: false, payload: utf8("fragment4") },
  { opcode: ping, payload: utf8("pongme 2") },
  { opcode: continuation, payload: utf8("fragment5") }
]
const fiveBack = [
  [pong, utf8("pongme 1")],
  [pong, utf8("pongme 2")]
] as const
const fragmentation = [
  make("5.1", "ping in two fragments", [{ opcode: ping, fin: false, payload: hello }, second], { close: 1002 }),
  make("5.2", "pong in two fragments", [{ opcode: pong, fin: false, payload: hello }, second], { close: 1002 }),
  ...chopped(3, "text in two fragments", [first, second], { texts: 1 }),
  ...chopped(6, "ping between two fragments", [first, inside, second], { texts: 1, back: insideBack }),
  ...chopped(9, "final continuation of nothing, then text", [orphan, small], { close: 1002 }),
  ...chopped(12, "continuation of nothing, then text", [{ ...orphan, fin: false }, small], { close: 1002 }),
  make("5.15", "fragments, then a continuation of nothing", [first, second, { ...orphan, fin: false }, small], {
    texts: 1,
    close: 1002
  }),
  make("5.16", "continuation of nothing, then fragments, twice", [{ ...orphan, fin: false }, first, second], {
    close: 1002
  }),
  make("5.17", "final continuation of nothing, then fragments, twice", [orphan, first, second], { close: 1002 }),
  make("5.18", "two fragments that both begin a text", [first, { opcode: text, payload: utf8("fragment2") }], {
    close: 1002
  }),
  make("5.19", "five fragments with pings between, with pauses", fivePings, {
    texts: 1,
    back: fiveBack,
    chop: "frames"
  }),
  make("5.20", "five fragments with pings between", fivePings, { texts: 1, back: fiveBack })
]

const good = "48656c6c6f2dc2b540c39fc3b6c3a4c3bcc3a0c3a12d5554462d382121"
const kosme = hex("ce ba e1 bd b9 cf 83 ce bc ce b5")
const bad = hex(`${Buffer.from(kosme).toString("hex")}eda080656469746564`)
const validUtf8 = [
  make("6.1.1", "empty text", [{ opcode: text }], { texts: 1 }),
  make(
    "6.1.2",
    "three empty fragments",
    [{ opcode: text, fin: false }, { opcode: continuation, fin: false }, { opcode: continuation }],
    { texts: 1 }
  ),
  make(
    "6.1.3",
    "three fragments, only the second not empty",
    [
      { opcode: text, fin: false },
      { opcode: continuation, fin: false, payload: utf8("middle frame payload") },
      { opcode: continuation }
    ],
    { texts: 1 }
  ),
  make("6.2.1", "UTF-8 in one frame", [{ opcode: text, payload: hex(good) }], { texts: 1 }),
  make("6.2.2", "UTF-8 in two fragments", fragments(text, hex(good), 15), { texts: 1 }),
  make("6.2.3", "UTF-8 in fragments of a byte", fragments(text, hex(good), 1), { texts: 1 }),
  make("6.2.4", "kosme in fragments of a byte", fragments(text, kosme, 1), { texts: 1 }),
  make("6.3.1", "no UTF-8, in one frame", [{ opcode: text, payload: bad }], { close: 1007 }),
  make("6.3.2", "no UTF-8, in fragments of a byte", fragments(text, bad, 1), { close: 1007 })
]

/** The mistake is noticed before the message is whole: the rest of it never comes. */
const fast = (payload: Uint8Array, length: number): RawFrame => ({
  opcode: text,
  fin: false,
  payload: payload.subarray(0, length)
})
const outOfRange = Buffer.concat([kosme, hex("f4908080"), utf8("edited")])
const failFast = [
  make(
    "6.4.1",
    "fails at the second fragment",
    [fast(kosme, 11), { opcode: continuation, fin: false, payload: hex("f4908080") }],
    { close: 1007 }
  ),
  make(
    "6.4.2",
    "fails at the byte that is wrong, of a fragment",
    [
      { opcode: text, fin: false, payload: Buffer.concat([kosme, hex("f4")]) },
      { opcode: continuation, fin: false, payload: hex("90") }
    ],
    { close: 1007 }
  ),
  make("6.4.3", "fails in the middle of a frame, in pieces", [{ opcode: text, payload: outOfRange }], {
    close: 1007,
    chop: 18
  }),
  make("6.4.4", "fails in the middle of a frame, byte by byte", [{ opcode: text, payload: outOfRange }], {
    close: 1007,
    chop: 1
  })
]

const many = (start: number, end: number, between: string): string =>
  Array.from({ length: end - start + 1 }, (_, index) => (start + index).toString(16).padStart(2, "0") + between).join(
    ""
  )
const planes = Array.from({ length: 16 }, (_, index) => String.fromCodePoint((index + 1) * 0x1_0000 + 0xfffe))
const planesEnd = Array.from({ length: 16 }, (_, index) => String.fromCodePoint((index + 1) * 0x1_0000 + 0xffff))
const nonCharacters = planes.flatMap((low, index) => [low, planesEnd[index] ?? ""])
const hexOf = (value: string): string => Buffer.from(value, "utf8").toString("hex")
const unfinished = ["c0", "e080", "f08080", "f8808080", "fc80808080", "df", "efbf", "f7bfbf", "fbbfbfbf", "fdbfbfbfbf"]

/** Markus Kuhn's sequences, as in the suite: family, whether they are UTF-8, the sequences. */
const sequences: ReadonlyArray<
  readonly [family: string, valid: ReadonlyArray<boolean>, sequences: ReadonlyArray<string>]
> = [
  ["6.5", [true], ["hello$world", "hello¢world", "hello€world", "hello𤭢world", "κόσμε"].map(hexOf)],
  [
    "6.6",
    [false, true, false, false, true, false, true, false, true, false, true],
    Array.from({ length: 11 }, (_, index) => Buffer.from(kosme.subarray(0, index + 1)).toString("hex"))
  ],
  ["6.7", [true], ["00", "c280", "e0a080", "f0908080"]],
  ["6.8", [false], ["f888808080", "fc8480808080"]],
  ["6.9", [true], ["7f", "dfbf", "efbfbf", "f48fbfbf"]],
  ["6.10", [false], ["f7bfbfbf", "fbbfbfbfbf", "fdbfbfbfbfbf"]],
  ["6.11", [true, true, true, true, false], ["ed9fbf", "ee8080", "efbfbd", "f48fbfbf", "f4908080"]],
  ["6.12", [false], ["80", "bf", "80bf", "80bf80", "80bf80bf", "80bf80bf80", "80bf80bf80bf", many(0x80, 0xbf, "")]],
  [
    "6.13",
    [false],
    [many(0xc0, 0xdf, "20"), many(0xe0, 0xef, "20"), many(0xf0, 0xf7, "20"), many(0xf8, 0xfb, "20"), "fc20fd20"]
  ],
  ["6.14", [false], unfinished],
  ["6.15", [false], [unfinished.join("")]],
  ["6.16", [false], ["fe", "ff", "fefeffff"]],
  ["6.17", [false], ["c0af", "e080af", "f08080af", "f8808080af", "fc80808080af"]],
  ["6.18", [false], ["c1bf", "e09fbf", "f08fbfbf", "f887bfbfbf", "fc83bfbfbfbf"]],
  ["6.19", [false], ["c080", "e08080", "f0808080", "f880808080", "fc8080808080"]],
  ["6.20", [false], ["eda080", "edadbf", "edae80", "edafbf", "edb080", "edbe80", "edbfbf"]],
  [
    "6.21",
    [false],
    [
      "a080edb080",
      "a080edbfbf",
      "adbfedb080",
      "adbfedbfbf",
      "ae80edb080",
      "ae80edbfbf",
      "afbfedb080",
      "afbfedbfbf"
    ].map((pair) => `ed${pair}`)
  ],
  ["6.22", [true], ["efbfbe", "efbfbf", ...nonCharacters.map(hexOf)]],
  ["6.23", [true], ["efbfb9", "efbfba", "efbfbb", "efbfbc", "efbfbd", "efbfbe", "efbfbf"]]
]
const utf8Sequences = sequences.flatMap(([family, valid, list]) =>
  list.map((sequence, index) => {
    const isValid = valid[valid.length === 1 ? 0 : index] === true
    const send = [{ opcode: text, payload: hex(sequence) }]
    const what = `${isValid ? "UTF-8" : "no UTF-8"}: ${sequence.slice(0, 24)}`
    return make(`${family}.${index + 1}`, what, send, isValid ? { texts: 1 } : { close: 1007 })
  })
)

const code = (value: number, reason = ""): RawFrame => ({
  opcode: close,
  payload: Buffer.concat([Buffer.from([value >> 8, value & 255]), utf8(reason)])
})
const goodCodes = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]
const badCodes = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999]
const closing = [
  make("7.1.1", "a message, then close", [{ opcode: binary, payload: hello }, code(1000)], {
    back: [[binary, hello]],
    close: 1000
  }),
  make("7.1.2", "two close frames", [code(1000), code(1000)], { close: 1000 }),
  make("7.1.3", "a ping after close", [code(1000), { opcode: ping }], { close: 1000 }),
  make("7.1.4", "a message after close", [code(1000), { opcode: binary, payload: hello }], { close: 1000 }),
  make("7.1.5", "a close between fragments", [first, code(1000), second], { close: 1000 }),
  make(
    "7.1.6",
    "256 KiB, then close, then a ping",
    [{ opcode: binary, payload: random(262_144) }, code(1000), { opcode: ping }],
    { back: [[binary, random(262_144)]], close: 1000 }
  ),
  make("7.3.1", "close without payload", [{ opcode: close }], { close: 1005 }),
  make("7.3.2", "close with one byte", [{ opcode: close, payload: utf8("a") }], { close: 1002 }),
  make("7.3.3", "close with a code", [code(1000)], { close: 1000 }),
  make("7.3.4", "close with a reason", [code(1000, "Hello World!")], { close: 1000 }),
  make("7.3.5", "close with the longest reason", [code(1000, "*".repeat(123))], { close: 1000 }),
  make("7.3.6", "close with a longer reason", [code(1000, "*".repeat(124))], { close: 1002 }),
  make("7.5.1", "close whose reason is no UTF-8", [{ opcode: close, payload: Buffer.concat([hex("03e8"), bad]) }], {
    close: 1007
  }),
  ...goodCodes.map((value, index) => make(`7.7.${index + 1}`, `close with ${value}`, [code(value)], { close: value })),
  ...badCodes.map((value, index) => make(`7.9.${index + 1}`, `close with ${value}`, [code(value)], { close: 1002 })),
  make("7.13.1", "close with 5000", [code(5000)], { close: 1002 }),
  make("7.13.2", "close with 65535", [code(65_535)], { close: 1002 })
]

const KiB = 1024
const MiB = KiB * KiB
const whole = [64 * KiB, 256 * KiB, MiB, 4 * MiB, 8 * MiB, 16 * MiB]
const parts = [64, 256, KiB, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB]
const pieces = [64, 128, 256, 512, KiB, 2 * KiB]
const echoes = [0, 16, 64, 256, KiB, 4 * KiB]
const limits = [
  ...whole.map((size, index) =>
    make(`9.1.${index + 1}`, `text of ${size}`, [{ opcode: text, payload: star(size) }], { texts: 1 })
  ),
  ...whole.map((size, index) =>
    make(`9.2.${index + 1}`, `binary message of ${size}`, [{ opcode: binary, payload: random(size) }], {
      back: [[binary, random(size)]]
    })
  ),
  ...parts.map((size, index) =>
    make(`9.3.${index + 1}`, `text of 4 MiB in fragments of ${size}`, fragments(text, star(4 * MiB), size), {
      texts: 1
    })
  ),
  ...parts.map((size, index) =>
    make(
      `9.4.${index + 1}`,
      `binary message of 4 MiB in fragments of ${size}`,
      fragments(binary, random(4 * MiB), size),
      { back: [[binary, random(4 * MiB)]] }
    )
  ),
  ...pieces.map((chop, index) =>
    make(`9.5.${index + 1}`, `text of 1 MiB in pieces of ${chop}`, [{ opcode: text, payload: star(MiB) }], {
      texts: 1,
      chop
    })
  ),
  ...pieces.map((chop, index) =>
    make(
      `9.6.${index + 1}`,
      `binary message of 1 MiB in pieces of ${chop}`,
      [{ opcode: binary, payload: random(MiB) }],
      { back: [[binary, random(MiB)]], chop }
    )
  ),
  ...echoes.map((size, index) =>
    make(
      `9.7.${index + 1}`,
      `1000 texts of ${size}`,
      Array.from({ length: 1000 }, () => ({ opcode: text, payload: star(size) })),
      { texts: 1000 }
    )
  ),
  ...echoes.map((size, index) =>
    make(
      `9.8.${index + 1}`,
      `1000 binary messages of ${size}`,
      Array.from({ length: 1000 }, () => ({ opcode: binary, payload: random(size) })),
      { back: Array.from({ length: 1000 }, () => [binary, random(size)] as const) }
    )
  )
]

const automatic = [
  make("10.1.1", "text of 64 KiB in fragments of 1300", fragments(text, star(65_536), 1300), { texts: 1 })
]

export const autobahnCases: ReadonlyArray<AutobahnCase> = [
  ...framing,
  ...pings,
  ...reserved,
  ...opcodes,
  ...fragmentation,
  ...validUtf8,
  ...failFast,
  ...utf8Sequences,
  ...closing,
  ...limits,
  ...automatic
]
