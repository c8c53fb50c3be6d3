/** Benchmarks of the codec: nanoseconds per message, compared with a plain copy of the same bytes. */

import {
  type ClientMessage,
  ClientMessage as ClientShape,
  clientMessage
} from "../../src/domain/protocol/client-message.ts"
import type { Codec } from "../../src/domain/protocol/codec.ts"
import {
  type DaemonMessage,
  DaemonMessage as DaemonShape,
  daemonMessage
} from "../../src/domain/protocol/daemon-message.ts"
import type { Shape } from "../../src/domain/protocol/shape.ts"
import { skip } from "../../src/domain/protocol/walker.ts"

const repetitions = 9
/** Long enough to be above the clock's resolution, short enough for all cases to take a few seconds. */
const sliceMs = 15

/** Nanoseconds per call, one value per repetition. */
const measure = (work: () => unknown): ReadonlyArray<number> => {
  let calls = 1
  for (;;) {
    const took = timed(work, calls)
    if (took >= sliceMs) break
    calls = Math.ceil(calls * Math.min(10, Math.max(1.5, (1.2 * sliceMs) / Math.max(took, 0.01))))
  }
  return Array.from({ length: repetitions }, () => (timed(work, calls) * 1e6) / calls)
}

let sink: unknown
const timed = (work: () => unknown, calls: number): number => {
  const start = performance.now()
  for (let i = 0; i < calls; i++) sink = work()
  return performance.now() - start
}

const median = (all: ReadonlyArray<number>): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0
const cell = (text: string): string => text.padStart(22)
const shown = (all: ReadonlyArray<number>, copy: number): string => {
  const middle = median(all)
  const spread = ((Math.max(...all) - Math.min(...all)) / middle) * 100
  return cell(`${middle.toFixed(0)} ns ×${(middle / copy).toFixed(1)} ±${(spread / 2).toFixed(0)}%`)
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value)
const headers = Array.from({ length: 15 }, (_, i) => [`x-header-${i}`, text(`value of header ${i}`)] as const)

const client: ReadonlyArray<readonly [string, ClientMessage]> = [
  ["client Ping", { _tag: "Ping" }],
  [
    "client Data 64 KiB",
    { _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 300n, bytes: new Uint8Array(65_536) } } }
  ],
  [
    "client HttpResponseFramed",
    {
      _tag: "TcpSteal",
      value: {
        _tag: "HttpResponseFramed",
        value: {
          port: 80,
          connectionId: 300n,
          requestId: 0,
          internalResponse: {
            status: 200,
            version: "HTTP/1.1",
            headers,
            body: [{ _tag: "Data", value: new Uint8Array(1000) }]
          }
        }
      }
    }
  ]
]

const daemon: ReadonlyArray<readonly [string, DaemonMessage]> = [
  [
    "daemon StartV2",
    {
      _tag: "TcpSteal",
      value: {
        _tag: "HttpRequestChunked",
        value: {
          _tag: "StartV2",
          value: {
            connectionId: 300n,
            requestId: 0,
            request: {
              method: "GET",
              uri: "/api/v1/things?page=2",
              headers,
              version: "HTTP/1.1",
              body: { frames: [], isLast: true }
            },
            metadata: {
              _tag: "V1",
              source: { ip: "10.0.0.9", port: 51000 },
              destination: { ip: "10.0.0.5", port: 80 }
            },
            transport: { _tag: "Tcp" }
          }
        }
      }
    }
  ],
  [
    "daemon env, 100 variables",
    {
      _tag: "GetEnvVarsResponse",
      value: { _tag: "Ok", value: new Map(Array.from({ length: 100 }, (_, i) => [`VARIABLE_${i}`, `value ${i}`])) }
    }
  ],
  [
    "daemon outgoing Read 16 KiB",
    {
      _tag: "TcpOutgoing",
      value: { _tag: "Read", value: { _tag: "Ok", value: { connectionId: 7n, bytes: new Uint8Array(16_384) } } }
    }
  ]
]

const row = <T>(name: string, codec: Codec<T>, shape: Shape, value: T): string => {
  const bytes = codec.encode(value)
  const source = Buffer.from(bytes)
  const copies = measure(() => Buffer.from(source))
  const copy = median(copies)
  const works = [() => codec.encode(value), () => codec.decode(bytes), () => skip(codec.name, shape, bytes)]
  return [
    name.padEnd(28),
    String(bytes.length).padStart(7),
    shown(copies, copy),
    ...works.map((work) => shown(measure(work), copy))
  ].join("")
}

/** A table: median of nanoseconds, ratio to a plain copy of the same bytes, half the spread. */
export const protocol = (): ReadonlyArray<string> => {
  const rows = [
    ["message".padEnd(28), "bytes".padStart(7), ...["copy", "encode", "decode", "skip"].map(cell)].join(""),
    ...client.map(([name, value]) => row(name, clientMessage, ClientShape, value)),
    ...daemon.map(([name, value]) => row(name, daemonMessage, DaemonShape, value))
  ]
  if (sink === undefined) throw new Error("nothing was measured")
  return [...rows, `median of ${repetitions} repetitions; × is the ratio to the copy, ± half the range`]
}
