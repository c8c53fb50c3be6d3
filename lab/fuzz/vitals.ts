/** How an operator's process is, as `vitals-preload.ts` reports it, and whether it is as it was before. */

import { connect } from "node:net"

/** An operator's process at one moment. */
export interface Vitals {
  /** Things held for sessions, by kind (src/app/kernel/holdings.ts). */
  readonly holdings: Readonly<Record<string, number>>
  /** Bytes of the heap and of buffers, after a collection of garbage. */
  readonly memory: number
  readonly sockets: number
  /** How many of the connections that it has accepted come from {@link hostileAddress} and are open. */
  readonly hostile: number
}

/** The fuzzer's peers connect from this address of the machine, and nothing else does. */
export const hostileAddress = "127.99.0.1"

/** Asks the process behind a path. */
export const readVitals = (path: string): Promise<Vitals> =>
  new Promise((resolve, reject) => {
    let text = ""
    const socket = connect(path)
    socket.setEncoding("utf8")
    socket.on("data", (more: string) => {
      text += more
    })
    socket.on("error", reject)
    socket.on("close", () => {
      try {
        resolve(JSON.parse(text) as Vitals)
      } catch {
        reject(new Error(`the operator's process answered ${JSON.stringify(text.slice(0, 100))}`))
      }
    })
  })

/** Things that an operator holds beyond its base, and how many hostile connections it has kept; empty if nothing. */
export const leftovers = (base: Vitals, now: Vitals): ReadonlyArray<string> => [
  ...Object.entries(now.holdings).flatMap(([kind, count]) => {
    const before = base.holdings[kind] ?? 0
    return count > before ? [`${kind}: ${count}, before ${before}`] : []
  }),
  ...(now.hostile === 0 ? [] : [`connections that the fuzzer has closed: ${now.hostile}`])
]

const mebibyte = 1024 * 1024
/** Growth that a process may keep for good: caches, compiled code, sessions that are remembered as stopped. */
const mayKeep = { memory: 48 * mebibyte, sockets: 48 }

/** How an operator has grown since its base beyond what it may; empty if it has not. */
export const growth = (base: Vitals, now: Vitals): ReadonlyArray<string> => [
  ...(now.memory > base.memory + mayKeep.memory
    ? [`memory: ${Math.round(now.memory / mebibyte)} MiB, before ${Math.round(base.memory / mebibyte)} MiB`]
    : []),
  ...(now.sockets > base.sockets + mayKeep.sockets ? [`sockets: ${now.sockets}, before ${base.sockets}`] : [])
]
