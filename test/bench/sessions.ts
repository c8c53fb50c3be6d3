/**
 * Benchmark of many sessions at once: what each costs in memory, what a MiB costs in processor time, how much later an
 * echo comes than over a direct connection, and what is left when all have ended. It fails if anything is left that the
 * sessions held. The operators are started as the image starts them, in cgroups of the chart's limit.
 *
 * Requests come in, too, because only connections that come in have mapped ids: each goes to a session that steals it,
 * and is mirrored to all others.
 */

import { createServer, connect as dial, type Socket } from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { connectOut, type RawSession } from "../../lab/client/raw-session.ts"
import { roundEvery } from "../../src/domain/sessions/agent-health.ts"
import { download, source } from "../charts/attacks.ts"
import { least, leaks } from "./memory/leaks.ts"
import { clusterNames, type ClusterName, type Left, Operators, roles } from "./memory/operators.ts"
import { leaveUnanswered, stealRequests, visit } from "./memory/stolen-requests.ts"

const kibibyte = 1024
const mebibyte = 1024 * 1024
const echoSize = 64
/** Time between two echoes of one session, ms. */
const echoEvery = 250
/** Size of a download, and how many echoes come between two of them. */
const downloadSize = 256 * kibibyte
const echoesBetween = 40
/** Direct connections that are measured at the same time. */
const direct = 10
/** Every tenth session steals the requests of its user. */
const stealing = 10
/** Time for what the start and the end of sessions leave behind, ms; an agent's watch stays for up to three rounds. */
const settle = 3 * roundEvery + 6_000
/** Looks at an operator at rest, and the pause between two of them, ms: connections come and go at rest, too. */
const looksAtRest = 6
const lookEvery = 5_000
/** Looks after the last session, until nothing is left; watches of agents that owe an answer stay for 40 rounds. */
const maxLooks = Math.ceil((45 * roundEvery) / lookEvery)

/** Times of echoes in ms, and the bytes of all traffic. */
interface Figures {
  readonly through: Array<number>
  readonly directly: Array<number>
  bytes: number
}

const at = (sorted: ReadonlyArray<number>, part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

const echoServer = async (): Promise<{ readonly port: number; readonly close: () => void }> => {
  const server = createServer({ noDelay: true }, (socket) => void socket.on("error", () => {}).pipe(socket))
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("sessions: the echo server has no port")
  return { port: address.port, close: () => void server.close() }
}

/** Repeats an act at a steady pace. Each begins at a moment of its own, so that they do not all come at once. */
const paced = async (until: number, act: () => Promise<void>): Promise<void> => {
  await pause(Math.random() * echoEvery)
  while (performance.now() < until) {
    const began = performance.now()
    await act()
    await pause(Math.max(0, echoEvery - (performance.now() - began)))
  }
}

const timed = async (into: Array<number>, act: () => Promise<unknown>): Promise<void> => {
  const began = performance.now()
  await act()
  into.push(performance.now() - began)
}

/** Waits until so many bytes have come back over a session's connection. */
const echoed = (session: RawSession, connectionId: bigint): Promise<true> => {
  let missing = echoSize
  return session.hear((message) => {
    if (message._tag !== "TcpOutgoing" || message.value._tag !== "Read" || message.value.value._tag !== "Ok")
      return undefined
    const { bytes, connectionId: id } = message.value.value.value
    if (id === connectionId) missing -= bytes.length
    return missing === 0 ? true : undefined
  })
}

const useSession = async (
  session: RawSession,
  ports: { readonly echo: number; readonly source: number },
  figures: Figures,
  until: number
): Promise<void> => {
  let uid = 1n
  let echoes = 0
  const connectionId = await connectOut(session, ports.echo, uid++)
  const bytes = new Uint8Array(echoSize)
  await paced(until, async () => {
    await timed(figures.through, () => {
      const back = echoed(session, connectionId)
      session.say({ _tag: "TcpOutgoing", value: { _tag: "Write", value: { connectionId, bytes } } })
      return back
    })
    figures.bytes += 2 * echoSize
    if (++echoes % echoesBetween === 0)
      await download(session, ports.source, uid++, (length) => {
        figures.bytes += length
      })
  })
}

const useSocket = async (port: number, figures: Figures, until: number): Promise<void> => {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const dialled = dial({ port, host: "127.0.0.1", noDelay: true }, () => resolve(dialled)).once("error", reject)
  })
  const bytes = new Uint8Array(echoSize)
  await paced(until, () =>
    timed(figures.directly, () => {
      let missing = echoSize
      const back = new Promise<void>((resolve) => {
        const listener = (chunk: Buffer): void => {
          missing -= chunk.length
          if (missing > 0) return
          socket.off("data", listener)
          resolve()
        }
        socket.on("data", listener)
      })
      socket.write(bytes)
      return back
    })
  )
  socket.destroy()
}

const everywhere = async <A>(look: (cluster: ClusterName) => Promise<A> | A): Promise<ReadonlyMap<ClusterName, A>> =>
  new Map(await Promise.all(clusterNames.map(async (name) => [name, await look(name)] as const)))

const row = (head: string, cells: ReadonlyArray<string | number>): string =>
  ["", head.padEnd(30), ...cells.map((cell) => String(cell).padStart(16))].join(" ").trimEnd()

/** The state of the operator in each cluster. */
type Found = ReadonlyMap<ClusterName, Left>

interface Looks {
  readonly atRest: Found
  readonly busy: Found
  readonly after: Found
  readonly cpu: ReadonlyMap<ClusterName, number>
}

/** Looks again and again, as often as `most` says and until it `suffices`. The result is the last, with the least. */
const leastOf = async (
  look: () => Promise<Found>,
  most: number,
  suffices: (found: Found) => boolean = () => false
): Promise<Found> => {
  let found = await look()
  for (let looked = 1; looked < most && !suffices(found); looked++) {
    await pause(lookEvery)
    const before = found
    found = new Map([...(await look())].map(([name, left]) => [name, least(left, before.get(name) ?? left)]))
  }
  return found
}

/** Things in the operators that were not there before. */
const leftIn = (atRest: Found, after: Found): ReadonlyArray<string> =>
  clusterNames.flatMap((name) => {
    const rests = { before: atRest.get(name), after: after.get(name) }
    if (rests.before === undefined || rests.after === undefined) return [`${roles[name]}: nothing is known of it`]
    return leaks({ before: rests.before, after: rests.after }).map((leak) => `${roles[name]}: ${leak}`)
  })

const tables = function* ({ after, atRest, busy, cpu }: Looks, { bytes }: Figures, count: number) {
  yield row("", ["rss", "heap", "CPU ms per MiB"])
  for (const name of clusterNames) {
    const [rest, now] = [atRest.get(name), busy.get(name)]
    const each = (kind: "rss" | "heapUsed"): string =>
      `${(((now?.[kind] ?? 0) - (rest?.[kind] ?? 0)) / count / kibibyte).toFixed(0)} KiB`
    const perMebibyte = ((cpu.get(name) ?? 0) / (bytes / mebibyte)).toFixed(1)
    yield row(`${roles[name]}, each session`, [each("rss"), each("heapUsed"), perMebibyte])
  }
  yield "after the last session, and before the first:"
  yield row("", ["sockets", "timers", "heap MiB"])
  for (const name of clusterNames) {
    const [rest, left] = [atRest.get(name), after.get(name)]
    const heap = (memory: Left | undefined): string => ((memory?.heapUsed ?? 0) / mebibyte).toFixed(1)
    yield row(roles[name], [
      `${left?.sockets}, ${rest?.sockets}`,
      `${left?.timers}, ${rest?.timers}`,
      `${heap(left)}, ${heap(rest)}`
    ])
  }
}

/** The things that the operators hold while the sessions run, and after the last one. */
const holdingsTable = function* ({ after, busy }: Looks) {
  const held = (look: Looks["busy"], name: ClusterName) => look.get(name)?.holdings ?? {}
  const found = clusterNames.flatMap((name) => [busy, after].flatMap((look) => Object.keys(held(look, name))))
  const kinds = new Set(found)
  yield "held for sessions, while they run and after the last one:"
  yield row(
    "",
    clusterNames.map((name) => roles[name])
  )
  for (const kind of [...kinds].toSorted())
    yield row(
      kind,
      clusterNames.map((name) => `${held(busy, name)[kind] ?? 0}, ${held(after, name)[kind] ?? 0}`)
    )
}

/** Throws if anything is left that must not be: of a session's objects, or in the memory of an operator. */
const judge = ({ after, atRest, busy }: Looks, objects: number): void => {
  for (const name of clusterNames)
    if (!(Number(busy.get(name)?.holdings["mapped ids"]) > 0))
      throw new Error(`sessions: the ${roles[name]} had no mapped ids, so that nothing is proved of them`)
  const found = leftIn(atRest, after)
  const left = objects === 0 ? found : [`objects of sessions and agents: ${objects}`, ...found]
  if (left.length > 0) throw new Error(`sessions: after the last session there is left: ${left.join("; ")}`)
}

/** `isShort`: few sessions, and not for long. */
export async function* sessions(isShort = false): AsyncGenerator<string> {
  const [count, seconds] = isShort ? [20, 20] : [200, 600]
  const operators = new Operators()
  const [echo, downloads] = await Promise.all([echoServer(), source(downloadSize)])
  const ports = { echo: echo.port, source: downloads.port }
  const figures: Figures = { through: [], directly: [], bytes: 0 }
  const collect = () => everywhere((name) => operators.collected(name))
  const users = Array.from({ length: count / stealing }, (_, index) => `session-${index}`)
  try {
    await operators.start(10)
    // The first sessions pay for what all share.
    await operators.open(5)
    await operators.end()
    await pause(settle)
    const atRest = await leastOf(collect, looksAtRest)
    await operators.open(count)
    await operators.replaceEnded()
    await Promise.all(
      operators.sessions.slice(0, users.length).map((session, index) => stealRequests(session, users[index] ?? ""))
    )
    const before = await everywhere((name) => operators.cpu(name))
    const until = performance.now() + seconds * 1_000
    await Promise.all([
      ...operators.sessions.map((session) => useSession(session, ports, figures, until)),
      ...Array.from({ length: direct }, () => useSocket(ports.echo, figures, until)),
      visit(operators.entries(), users, until)
    ])
    const cpu = await everywhere((name) => operators.cpu(name) - (before.get(name) ?? 0))
    const [thief] = operators.sessions
    if (thief !== undefined) await leaveUnanswered(operators.entries(), thief, users[0] ?? "")
    const busy = await collect()
    await operators.end()
    await pause(settle)
    const mebibytes = (figures.bytes / mebibyte).toFixed(0)
    yield `${count} sessions over 3 clusters for ${seconds} s: ${figures.through.length} echoes, ${mebibytes} MiB`
    yield row("an echo of 64 B, ms", ["p50", "p99"])
    for (const [what, times] of [
      ["through a session", figures.through],
      ["directly", figures.directly]
    ] as const) {
      const sorted = times.toSorted((a, b) => a - b)
      yield row(what, [at(sorted, 0.5).toFixed(2), at(sorted, 0.99).toFixed(2)])
    }
    const after = await leastOf(collect, maxLooks, (found) => leftIn(atRest, found).length === 0)
    const seen = { atRest, busy, cpu, after }
    yield* tables(seen, figures, count)
    yield* holdingsTable(seen)
    judge(seen, operators.objects())
  } finally {
    echo.close()
    downloads.close()
    await operators.close()
  }
}
