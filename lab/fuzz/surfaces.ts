/**
 * The places where hostile input meets an operator: for each the generator, what is done with an input, and what is
 * wrong with the answer. Whether operators and other sessions are well afterwards is looked up elsewhere
 * (`health.ts`).
 */

import type * as fc from "fast-check"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import { operatorApiRoot } from "../../src/domain/resources/operator-api.ts"
import { type Arena, type Operator, type Tampered, victimTarget } from "./arena.ts"
import { frameOf, readServer } from "./frames.ts"
import { type Answers, answersProblem, readAnswers } from "./http-answer.ts"
import { apiInput, certificatePlace, connectInput, framingInput, type HttpInput } from "./http-inputs.ts"
import type { Peer } from "./peer.ts"
import {
  agentTampering,
  linkTampering,
  speechBytes,
  type SpeechInput,
  speechInput,
  type TamperInput
} from "./wire-inputs.ts"

/** An input, and what is done with it. */
export interface Attack {
  /** Gives a sentence if the input is not answered as it should be. */
  readonly run: (arena: Arena, tally: Tally) => Promise<string | undefined>
  readonly show: () => string
}

/** One kind of attack. */
export interface Surface {
  readonly name: string
  /** How many attackers work at the same time. */
  readonly lanes: number
  readonly attack: fc.Arbitrary<Attack>
}

interface SurfaceOf<Input> {
  readonly name: string
  readonly lanes: number
  readonly input: fc.Arbitrary<Input>
  readonly run: (arena: Arena, input: Input, tally: Tally) => Promise<string | undefined>
  readonly show: (input: Input) => string
}

const surfaceOf = <Input>({ input, lanes, name, run, show }: SurfaceOf<Input>): Surface => ({
  name,
  lanes,
  attack: input.map((one) => ({ run: (arena, tally) => run(arena, one, tally), show: () => show(one) }))
})

/** Counts what came of inputs. */
export class Tally {
  readonly counts = new Map<string, number>()

  add(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }
}

/** Ms in which an answer may come before the fuzzer goes on; nothing is expected of it. */
const soon = { answer: 250, session: 2_000, pong: 200 } as const

const isAnswered = (heard: Buffer): boolean => {
  const { answers, isCut } = readAnswers(heard)
  return answers.some(({ code }) => code !== 100) && !isCut
}

/** The flaw of an answer to a peer without the front proxy's certificate, which is told nothing. */
const strangersProblem = ({ answers }: Answers): string | undefined => {
  const told = answers.find(
    ({ body, code }) => code < 400 && code !== 100 && !(code === 200 && body.toString("latin1") === "ok")
  )
  return told === undefined ? undefined : `a stranger got ${told.code}: ${told.body.toString("utf8").slice(0, 200)}`
}

const bytesOf = ({ text }: HttpInput, { user }: Operator): Buffer =>
  Buffer.from(
    text.replaceAll(/\{certificate\}(\d*)/g, (_, length: string) =>
      length === "" ? user.certificate : user.certificate.slice(0, Number(length))
    ),
    "latin1"
  )

const sendHttp = async (arena: Arena, input: HttpInput, tally: Tally): Promise<string | undefined> => {
  const { cuts, ending, identity, isHead, pauseMs } = input
  const operator = arena[input.at]
  const peer = await operator.peers.dial(operator.address, identity)
  if (peer === undefined) return undefined
  await peer.send(bytesOf(input, operator), cuts, pauseMs)
  const isConnect = input.text.includes(certificatePlace)
  if (ending === "half-close") await peer.softly(isAnswered, isConnect ? soon.session : soon.answer)
  await peer.end(ending)
  const heard = readAnswers(peer.heard, isHead)
  for (const { code } of heard.answers) tally.add(String(code))
  const problem = answersProblem(heard, isHead) ?? (identity === "front proxy" ? undefined : strangersProblem(heard))
  return problem ?? (heard.upgraded === undefined ? undefined : readServer(heard.upgraded).problem)
}

const showHttp = ({ text, ...rest }: HttpInput): string =>
  `${JSON.stringify(rest)}\n${JSON.stringify(text.length > 3000 ? `${text.slice(0, 3000)}…(${text.length})` : text)}`

const http = (name: string, lanes: number, input: fc.Arbitrary<HttpInput>): Surface =>
  surfaceOf({ name, lanes, input, run: sendHttp, show: showHttp })

interface Attaching {
  readonly target?: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A primary, which has no user certificate. */
  readonly isLink?: boolean
}

const envoy = "system:serviceaccount:mirrord:mirrord-operator-envoy"

const upgradeText = ({ user }: Operator, id: bigint, { headers, isLink, query, target }: Attaching): string => {
  const all: Readonly<Record<string, string>> = {
    Host: "operator",
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
    "X-Remote-User": isLink === true ? envoy : "fuzz",
    "X-Remote-Group": isLink === true ? "system:serviceaccounts" : "system:masters",
    "x-session-id": id.toString(),
    ...(isLink === true ? {} : { "x-client-der": user.certificate }),
    ...headers
  }
  const path = `${operatorApiRoot}/proxy/namespaces/default/targets/${target ?? "deployment.myapp"}`
  const lines = Object.entries(all).map(([name, text]) => `${name}: ${text}\r\n`)
  return `GET ${path}?${query ?? "connect=true&key=fuzz"} HTTP/1.1\r\n${lines.join("")}\r\n`
}

/** A connection that speaks the protocol. */
interface Attached {
  readonly peer: Peer
  /** The operator's bytes since its 101. */
  readonly said: () => Buffer
}

/** Connects to a session; undefined if it is refused, which is then another session's turn. */
const attach = async (
  operator: Operator,
  id: bigint,
  attaching: Attaching
): Promise<Attached | { readonly refused: string }> => {
  const peer = await operator.peers.dial(operator.address, "front proxy")
  if (peer === undefined) return { refused: "no connection" }
  await peer.send(Buffer.from(upgradeText(operator, id, attaching), "latin1"))
  await peer.until("the answer to a connect", isAnswered)
  const { answers, upgraded } = readAnswers(peer.heard)
  if (upgraded !== undefined) return { peer, said: () => readAnswers(peer.heard).upgraded ?? Buffer.alloc(0) }
  await peer.end("cut")
  return { refused: `${answers[0]?.code ?? "nothing"} ${answers[0]?.body.toString("utf8") ?? ""}` }
}

/** The sessions of one attacker, one after the other: a session that has ended is followed by a new one. */
class Victim {
  static #count = 0n
  id = 0n

  constructor() {
    this.next()
  }

  next(): void {
    this.id = 0xbad0_0000_0000n + ++Victim.#count
  }
}

const victims = new Map<string, Victim>()
const victimOf = (name: string): Victim => {
  const known = victims.get(name) ?? new Victim()
  victims.set(name, known)
  return known
}

/** Attaches to the attacker's session. Nothing if it is refused even for a new one. */
const attachTo = async (
  operator: Operator,
  victim: Victim,
  attaching: Attaching,
  tally: Tally
): Promise<Attached | undefined> => {
  for (let tries = 0; tries < 3; tries++) {
    const attached = await attach(operator, victim.id, attaching)
    if (!("refused" in attached)) {
      tally.add("connected")
      return attached
    }
    tally.add(`refused ${attached.refused.slice(0, 3)}`)
    victim.next()
  }
  return undefined
}

const greeting = [
  frameOf({ _tag: "SwitchProtocolVersion", value: protocolVersion }),
  frameOf({ _tag: "GetEnvVarsRequest", value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) } })
]
const subscription = frameOf({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } })
const ping = frameOf({ _tag: "Ping" })

const pongs = (said: Buffer): number => readServer(said).messages.filter(({ _tag }) => _tag === "Pong").length

/** Says hostile things on a connection, and asks at its end whether the other side still answers. */
const speak = async ({ peer, said }: Attached, input: SpeechInput): Promise<string | undefined> => {
  if (input.isGreeted) for (const frame of greeting) await peer.send(frame)
  await peer.send(speechBytes(input), input.cuts, input.pauseMs)
  await peer.send(ping)
  if (input.ending === "half-close")
    await peer.softly(() => {
      const { closed, messages } = readServer(said())
      return closed !== undefined || messages.some(({ _tag }) => _tag === "Pong")
    }, soon.pong)
  await peer.end(input.ending)
  return readServer(said()).problem
}

const showSpeech = ({ frames, ...rest }: SpeechInput): string =>
  [
    JSON.stringify(rest),
    ...frames.map(
      ({ payload, ...header }) => `${JSON.stringify(header)} ${Buffer.from(payload.subarray(0, 400)).toString("hex")}`
    )
  ].join("\n")

const clientSurface = surfaceOf<SpeechInput>({
  name: "client",
  lanes: 2,
  input: speechInput,
  run: async ({ primary }, input, tally) => {
    const attached = await attachTo(primary, victimOf("client"), {}, tally)
    return attached === undefined ? undefined : speak(attached, input)
  },
  show: showSpeech
})

const singleSurface = surfaceOf<SpeechInput>({
  name: "single",
  lanes: 2,
  input: speechInput,
  run: async ({ member }, input, tally) => {
    const attached = await attachTo(member, victimOf("single"), {}, tally)
    return attached === undefined ? undefined : speak(attached, input)
  },
  show: showSpeech
})

/** Speaks to the member in the place of the primary, in a session that has a link of the primary's own. */
const primarySurface = surfaceOf<SpeechInput>({
  name: "primary",
  lanes: 1,
  input: speechInput,
  run: async ({ member, primary }, input, tally) => {
    const victim = victimOf("primary")
    const held = await attachTo(primary, victim, {}, tally)
    if (held === undefined) return undefined
    const headers: Readonly<Record<string, string>> = input.term === undefined ? {} : { "x-braid-term": input.term }
    const attached = await attach(member, victim.id, { isLink: true, headers })
    if ("refused" in attached) tally.add(`link refused ${attached.refused.slice(0, 3)}`)
    else tally.add("linked")
    const problem = "refused" in attached ? undefined : await speak(attached, input)
    await held.peer.end("half-close")
    return problem ?? readServer(held.said()).problem
  },
  show: showSpeech
})

const showTampering = ({ changes }: TamperInput): string =>
  changes
    .map(({ bytes, ...rest }) => `${JSON.stringify(rest)} ${Buffer.from(bytes.subarray(0, 400)).toString("hex")}`)
    .join("\n")

/** Lets changes hold for the streams that begin while something is done. */
const while_ = async <A>(tampered: Tampered, { changes }: TamperInput, act: () => Promise<A>): Promise<A> => {
  tampered.changes = changes
  try {
    return await act()
  } finally {
    tampered.changes = undefined
  }
}

/**
 * Changes what the member says on its link to the primary: the client of the session is answered, or its connection
 * ends.
 */
const memberSurface = surfaceOf<TamperInput>({
  name: "member",
  lanes: 1,
  input: linkTampering,
  run: async ({ links, primary }, input, tally) => {
    const victim = victimOf("member")
    return while_(links, input, async () => {
      links.sessionId = victim.id.toString()
      const attached = await attachTo(primary, victim, {}, tally)
      if (attached === undefined) return undefined
      const { peer, said } = attached
      for (const frame of [...greeting, subscription, ping]) await peer.send(frame)
      await peer.until("the answer to a Ping", () => pongs(said()) > 0 || readServer(said()).closed !== undefined)
      await peer.end("half-close")
      return pongs(said()) > 1 ? "one Ping got two Pongs" : readServer(said()).problem
    })
  },
  show: showTampering
})

/** Changes what an agent says. A client whose agent swallows its answer goes without; the operator cannot know. */
const agentSurface = surfaceOf<TamperInput>({
  name: "agent",
  lanes: 1,
  input: agentTampering,
  run: ({ agents, member }, input, tally) =>
    while_(agents, input, async () => {
      const attached = await attachTo(member, victimOf("agent"), { target: victimTarget }, tally)
      if (attached === undefined) return undefined
      const { peer, said } = attached
      for (const frame of [...greeting, subscription, ping]) await peer.send(frame)
      await peer.softly(() => pongs(said()) > 0 || readServer(said()).closed !== undefined, soon.pong)
      await peer.end("half-close")
      return readServer(said()).problem
    }),
  show: showTampering
})

export const surfaces: ReadonlyArray<Surface> = [
  http("connect", 2, connectInput),
  http("api", 2, apiInput),
  http("framing", 2, framingInput),
  clientSurface,
  singleSurface,
  primarySurface,
  memberSurface,
  agentSurface
]
