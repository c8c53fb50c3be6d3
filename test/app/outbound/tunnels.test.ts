/** Cell and outpost together, over a network in memory: joining, renewing, leaving, and what gets lost. */

import { webcrypto, X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import type { Duplex } from "node:stream"
import { Effect, Exit, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll, describe, expect, vi } from "vitest"
import { makeOutpostRequest } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { readTunnelAuthority, tunnelAuthoritySecret } from "../../../src/app/outbound/authority.ts"
import { type Cell, startCell } from "../../../src/app/outbound/cell.ts"
import { outpostSecret, readIdentity } from "../../../src/app/outbound/outpost-identity.ts"
import { runOutpost } from "../../../src/app/outbound/outpost.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { storedTokenData, tokenText } from "../../../src/domain/outbound/bootstrap-token.ts"
import { writeLine } from "../../../src/domain/outbound/control-message.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { TunnelDialler, TunnelListener } from "../../../src/ports/tunnel.ts"
import { it } from "../../support/effect-it.ts"
import { operatorNamespace as namespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { MemoryTunnels } from "../../support/memory-tunnels.ts"
import { turns } from "../../support/turns.ts"
import { day0 } from "../sessions/session-fleet.ts"

/** How many keys are being made and texts signed, and how many ever were. */
const busy = { with: 0, begun: 0 }
const { subtle } = webcrypto
beforeAll(() => {
  for (const name of ["generateKey", "exportKey", "importKey", "sign", "verify", "digest"] as const) {
    const real = subtle[name].bind(subtle) as (...args: ReadonlyArray<unknown>) => Promise<never>
    vi.spyOn(subtle, name).mockImplementation((...args: ReadonlyArray<unknown>) => {
      busy.with++
      busy.begun++
      return real(...args).finally(() => busy.with--)
    })
  }
})
afterAll(() => void vi.restoreAllMocks())

const b = clusterName("cluster-b")
const secretName = credentialsSecretName(b, sha256Hex)
const hour = 3_600_000

/** A primary and a member that dials out, both without an operator around the tunnels. */
class Pair {
  readonly primary = new MemoryKubeApi("primary")
  readonly member = new MemoryKubeApi("cluster-b")
  readonly net = new MemoryTunnels()
  /** Whether the fleet has the member. */
  isConfigured = true
  certificateHours = 24
  bootstrapRanges: ReadonlyArray<string> = []
  cell: Cell | undefined
  #changed = (): void => {}

  /** Starts the primary's side. */
  readonly startCell = Effect.gen({ self: this }, function* () {
    const scope = yield* Scope.make()
    const { bootstrapRanges, certificateHours } = this
    const settings = { hosts: ["::"], port: 8443, bootstrapPort: 8444, bootstrapRanges, certificateHours }
    this.cell = yield* startCell({
      api: this.primary,
      namespace,
      settings,
      isConfigured: (name) => this.isConfigured && name === b,
      configured: () => (this.isConfigured ? [b] : []),
      listen: (changed) => {
        this.#changed = changed
        return () => {}
      }
    }).pipe(Effect.provideService(TunnelListener, this.net.listener), Scope.provide(scope))
    this.endCell = Scope.close(scope, Exit.void)
  })
  endCell: Effect.Effect<void> = Effect.void

  /** Takes the member into the fleet, or out of it. */
  configure(isConfigured: boolean): void {
    this.isConfigured = isConfigured
    this.#changed()
  }

  /** Starts the member's side, with a token or with what it has kept. */
  readonly startOutpost = Effect.fnUntraced(
    { self: this },
    function* (token: string, api: MemoryKubeApi, pin?: string) {
      const scope = yield* Scope.make()
      const now = yield* readTunnelAuthority(this.primary, namespace)
      const bootstrap = { token: Redacted.make(token), address: "cell:8444", pin: pin ?? now.pin }
      yield* runOutpost({
        api,
        namespace,
        cell: "cell:8443",
        bootstrap,
        serve: (lane) => lane.end(`lane of ${api.cluster}`)
      }).pipe(
        Effect.provideService(TunnelDialler, this.net.dialler(`10.0.0.${api === this.member ? 1 : 2}`)),
        Scope.provide(scope),
        Effect.forkIn(scope)
      )
      this.endOutpost = Scope.close(scope, Exit.void)
    }
  )
  endOutpost: Effect.Effect<void> = Effect.void

  /** Makes a token, as `braid join --outbound` does. `id`: its first letter. */
  token(id = "a", until = day0 + hour): string {
    const token = { name: b, id: id.repeat(10), secret: id.repeat(43) }
    const stored = storedTokenData({ ...token, hash: sha256Hex(token.secret), until, by: "root" })
    const data = { ...this.data(this.primary, secretName), ...stored }
    const labels = { [credentialsLabel]: "true" }
    this.primary.write(secrets, secretName, { metadata: { labels }, data }, namespace)
    return tokenText(token)
  }

  readonly data = (api: MemoryKubeApi, name: string): Readonly<Record<string, string>> =>
    (api.peek(secrets, name, namespace)?.["data"] ?? {}) as Record<string, string>

  /** Opens a lane, and reads what the member's side puts into it; else why there is none. */
  readonly ask = (): string => {
    try {
      const lane = this.cell?.openLane(b)
      const said = String(lane?.read() ?? "nothing")
      lane?.destroy()
      return said
    } catch (error) {
      return String(error)
    }
  }
}

/** Waits until no key is being made and nothing signed: these take their own time, and virtual time waits for them. */
const settle = Effect.promise(async () => {
  for (let [begun, isIdle] = [-1, false]; !isIdle || begun !== busy.begun;) {
    begun = busy.begun
    isIdle = busy.with === 0
    await turns(20)
  }
})

/** Lets seconds pass. */
const pass = Effect.fnUntraced(function* (seconds: number, step = 1) {
  for (let passed = 0; passed < seconds; passed += step) {
    yield* settle
    yield* TestClock.adjust(step * 1_000)
  }
  yield* settle
})

const startWith = Effect.fnUntraced(function* (certificateHours: number) {
  yield* TestClock.setTime(day0)
  const pair = new Pair()
  pair.certificateHours = certificateHours
  yield* pair.startCell
  return pair
})
const start = startWith(24)

const served = "lane of cluster-b"

/** Waits until something holds, for so many seconds at most. */
const within = Effect.fnUntraced(function* (seconds: number, holds: () => boolean) {
  for (let passed = 0; passed < seconds && !holds(); passed++) yield* pass(1)
  expect(holds()).toBe(true)
})

const page = readFileSync(new URL("../../../docs/operating/outbound.md", import.meta.url), "utf8")

/** Asks for an exchange of the authority, as the page says. */
const askForExchange = ({ primary }: Pair): void => {
  const [, place, secret = "", annotation = "", value] =
    /^kubectl -n (\S+) annotate secret (\S+) (\S+)=(\S+)$/mu.exec(page) ?? []
  expect(place).toBe(namespace)
  primary.write(secrets, secret, { metadata: { annotations: { [annotation]: value } } }, namespace)
}

/** Waits for the member's tunnel. */
const live = (pair: Pair, answer = served) => within(45, () => pair.ask() === answer)

/** The certificate and key of the member, as a thief has them too. */
const keptIdentity = Effect.fnUntraced(function* ({ member }: Pair) {
  const identity = yield* readIdentity({ api: member, namespace })
  if (identity === undefined) throw new Error("there is no identity")
  return identity
})

describe("a member that dials out", () => {
  it.effect("joins by its token, which is spent, and comes back with what it has kept", function* () {
    const pair = yield* start
    const token = pair.token()
    expect(pair.ask()).toMatch(/Cluster "?cluster-b"? has not dialled since/u)
    yield* pair.startOutpost(token, pair.member)
    yield* live(pair)
    expect(pair.cell?.until(b)).toBeLessThanOrEqual(day0 + 25 * hour)
    const since = pair.cell?.since(b) ?? 0
    expect(since).toBeGreaterThanOrEqual(day0)
    expect(Object.keys(pair.data(pair.primary, secretName))).toEqual(["keys"])
    yield* pair.endOutpost
    yield* pass(1)
    expect(pair.ask()).toContain("its outpost ended")
    expect(pair.cell?.since(b)).toBeUndefined()
    yield* pair.startOutpost(token, pair.member)
    yield* live(pair)
    expect(pair.cell?.since(b)).toBeGreaterThan(since)
  })

  it.effect("cannot join with a token that another has used, nor with a wrong one", function* () {
    const pair = yield* start
    const token = pair.token()
    yield* pair.startOutpost(token, pair.member)
    yield* live(pair)
    const thief = new MemoryKubeApi("thief")
    yield* pair.startOutpost(token, thief)
    yield* pair.startOutpost(token.replace(/a$/u, "b"), new MemoryKubeApi("guesser"))
    yield* within(60, () => pair.net.refused === 2)
    expect(pair.data(thief, outpostSecret)).toEqual({})
    expect([pair.ask(), pair.net.dials]).toEqual([served, 1])
  })

  it.effect("joins only from the networks that tokens are taken from", function* () {
    yield* TestClock.setTime(day0)
    const pair = new Pair()
    pair.bootstrapRanges = ["10.0.0.2/32"]
    yield* pair.startCell
    const token = pair.token()
    yield* pair.startOutpost(token, pair.member)
    yield* within(60, () => pair.net.refused === 2)
    yield* pair.endOutpost
    yield* pair.startOutpost(token, new MemoryKubeApi("other"))
    yield* live(pair, "lane of other")
  })

  it.effect("cannot join with a token that has ended", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token("a", day0), pair.member)
    yield* within(60, () => pair.net.refused === 2)
    expect(pair.net.dials).toBe(0)
  })

  it.effect("is served without a gap while certificates are renewed and the authority is exchanged", function* () {
    const pair = yield* startWith(12)
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    const { pin } = yield* readTunnelAuthority(pair.primary, namespace)
    askForExchange(pair)
    const operations = new Array<Duplex | undefined>()
    const bundles = new Set<string | undefined>()
    /** Each operation takes some minutes, so that some are under way whenever a tunnel is replaced. */
    const load = Effect.fnUntraced(function* (minutes: number) {
      yield* pass(minutes * 60, minutes * 60)
      expect(pair.ask()).toBe(served)
      operations.push(pair.cell?.openLane(b))
      const done = operations.length > 2 ? operations.shift() : undefined
      expect(done?.errored ?? null).toBe(null)
      done?.destroy()
      bundles.add(pair.data(pair.member, outpostSecret)["ca.crt"])
    })
    // The former authority goes after 72 hours, and a certificate of 12 hours is renewed after 6.8 to 8.
    for (const renewal of Array.from({ length: 11 }, (_, at) => at + 1)) {
      const keys = () => [pair.data(pair.primary, secretName)["keys"], pair.data(pair.member, outpostSecret)["tls.key"]]
      const before = keys()
      yield* pass(6.5 * 3_600, 1_800)
      const isRenewed = () => pair.net.dials > renewal && keys().every((text, at) => text !== before[at])
      for (let minutes = 0; minutes < 120 && !isRenewed(); minutes += 4) yield* load(4)
      expect(isRenewed()).toBe(true)
      for (const operation of operations.splice(0)) {
        expect(operation?.errored ?? null).toBe(null)
        operation?.destroy()
      }
    }
    const after = yield* readTunnelAuthority(pair.primary, namespace)
    const { authoritiesPem, certificatePem, sequence } = yield* keptIdentity(pair)
    expect([after.pin === pin, bundles.size]).toEqual([false, 2])
    expect([authoritiesPem, sequence]).toEqual([after.certificatePem, after.sequence])
    expect(new X509Certificate(certificatePem).checkIssued(new X509Certificate(after.certificatePem))).toBe(true)
  })

  it.effect("is waited for before the next authority signs, and a token from before stays good then", function* () {
    const pair = yield* start
    const first = pair.token()
    yield* pair.startOutpost(first, pair.member)
    yield* live(pair)
    yield* pair.endOutpost
    const { pin } = yield* readTunnelAuthority(pair.primary, namespace)
    const signing = () => pair.data(pair.primary, tunnelAuthoritySecret)["tls.crt"]
    const before = signing()
    askForExchange(pair)
    yield* pass(600, 60)
    expect(signing()).toBe(before)
    yield* pair.startOutpost(first, pair.member)
    yield* within(240, () => signing() !== before)
    yield* live(pair)
    yield* pair.startOutpost(pair.token("c"), new MemoryKubeApi("other"), pin)
    yield* live(pair, "lane of other")
  })

  it.effect("keeps its authorities when a restored primary sends older ones, which names the cure", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    const backup = pair.data(pair.primary, tunnelAuthoritySecret)
    askForExchange(pair)
    const held = () => pair.data(pair.member, outpostSecret)["ca.crt"]
    const first = held()
    yield* within(120, () => held() !== first)
    const second = held()
    yield* pair.endCell
    pair.primary.erase(secrets, tunnelAuthoritySecret, namespace)
    pair.primary.write(secrets, tunnelAuthoritySecret, { data: backup }, namespace)
    yield* pair.startCell
    yield* live(pair)
    yield* pass(10)
    expect(held()).toBe(second)
    expect(JSON.stringify(pair.primary.peekAll(events))).toMatch(/CommandRefused.*braid join cluster-b --renew/u)
    yield* pair.endOutpost
    yield* pair.startOutpost(pair.token("c"), pair.member)
    yield* live(pair)
    expect(held()).toBe(first)
  })

  it.effect("has one certificate made at a time, however often it asks, and greets for itself alone", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    const identity = yield* keptIdentity(pair)
    const { requestPem: request } = yield* Effect.promise(() => makeOutpostRequest())
    yield* settle
    const tunnel = yield* pair.net.dialler("10.0.0.3").dial({ address: "cell:8443", identity, serve: () => {} })
    const answers = new Array<string>()
    tunnel.listen((line) => answers.push(String(/"type":"(\w+)"/u.exec(line)?.[1])))
    const holds = { epoch: "one", number: 1, hash: "0".repeat(64) }
    const hello = { _tag: "Hello", protocol: 1, version: "test", capabilities: [], clock: 0, holds } as const
    const { binding } = tunnel
    for (const id of ["1", "2", "3", "4"]) {
      tunnel.send(writeLine({ ...hello, binding }))
      tunnel.send(writeLine({ _tag: "Renew", id, request }))
    }
    yield* settle
    tunnel.send(writeLine({ ...hello, binding: "0".repeat(64) }))
    expect(yield* tunnel.ended).toContain("the hello was made for another TLS connection")
    expect(answers.toSorted()).toEqual(["authorities", "certificate", "refused", "refused", "refused", "welcome"])
  })

  it.effect("has no more than 32 tunnels at a time, whoever has its key", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    const identity = yield* keptIdentity(pair)
    const dial = pair.net.dialler("10.0.0.3").dial({ address: "cell:8443", identity, serve: () => {} })
    const tunnels = yield* Effect.all(Array.from({ length: 40 }, () => dial))
    const states = yield* Effect.forEach(tunnels, ({ ended }) => Effect.raceFirst(ended, Effect.succeed("stands")))
    expect(states.filter((state) => state === "stands")).toHaveLength(31)
    expect(states[31]).toContain("has 32 tunnels already")
    yield* pass(15)
    expect([(yield* dial).received(), pair.ask()]).toEqual([0, served])
  })

  it.effect("is out at once when it has left, and comes back when the fleet has it again", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    pair.configure(false)
    expect(pair.ask()).toContain("has not dialled since")
    // It has read the refusal, which came together with the end.
    const { dials } = pair.net
    yield* pass(14)
    expect(pair.net.dials).toBe(dials)
    yield* pass(26)
    pair.configure(true)
    yield* live(pair)
    pair.primary.erase(secrets, secretName, namespace)
    yield* pass(1)
    expect(pair.ask()).toContain("has not dialled since")
    yield* pass(60)
    expect(pair.ask()).toContain("does not admit this key")
  })

  it.effect("is refused with a reason that its primary tells too, once for all dials", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    const refusals = () => pair.primary.peekAll(events).filter(({ reason }) => reason === "TunnelRefused")
    pair.primary.erase(secrets, secretName, namespace)
    yield* pass(100)
    expect(refusals().map(({ message }) => String(message))).toEqual([
      expect.stringContaining("does not admit this key of cluster cluster-b")
    ])
    yield* pair.endOutpost
    yield* pair.startOutpost(pair.token("c"), pair.member)
    yield* live(pair)
    pair.primary.erase(secrets, secretName, namespace)
    yield* pass(100)
    expect(refusals().length + refusals().filter(({ count }) => Number(count) > 1).length).toBe(2)
  })

  it.effect("is shut out by another token once that was used, not before", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    const other = pair.token("c")
    yield* pass(10)
    expect(pair.ask()).toBe(served)
    yield* pair.startOutpost(other, new MemoryKubeApi("other"))
    yield* live(pair, "lane of other")
    yield* pair.endOutpost
  })

  it.effect.each<readonly [string, number]>([
    ["lasts", 0],
    ["has ended", 25]
  ])("tries its other token until the primary is there, while its certificate %s", function* ([, hours]) {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    yield* pair.endOutpost
    const before = pair.data(pair.member, outpostSecret)["tls.key"]
    yield* TestClock.adjust(hours * hour)
    pair.net.isReachable = false
    yield* pair.startOutpost(pair.token("c", day0 + 26 * hour), pair.member)
    yield* pass(40)
    pair.net.isReachable = true
    yield* within(120, () => pair.data(pair.member, outpostSecret)["tls.key"] !== before)
    yield* live(pair)
    expect(Object.keys(pair.data(pair.primary, secretName))).toEqual(["keys"])
  })

  it.effect("joins again by a token that comes before the primary's configuration", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    yield* pair.endOutpost
    pair.configure(false)
    // The Secret of a cluster that has left is deleted.
    pair.primary.erase(secrets, secretName, namespace)
    yield* pair.startOutpost(pair.token("c"), pair.member)
    yield* pass(10)
    pair.configure(true)
    yield* within(120, () => pair.ask() === served)
  })

  it.effect("has another tunnel within 20 s when the path swallows everything", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* pass(70)
    pair.net.carries = false
    yield* pass(5)
    pair.net.carries = true
    yield* pass(1)
    expect(pair.ask()).toBe(served)
    pair.net.carries = false
    yield* pass(46)
    expect(pair.ask()).toContain("Nothing has come from cluster")
    pair.net.carries = true
    yield* pass(35)
    expect(pair.ask()).toBe(served)
  })

  it.effect("gives up a dial that it needs no more, also one that is under way", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* pass(70)
    pair.net.dialTime = 9_000
    pair.net.carries = false
    // The next beat comes through before the dial has ended.
    yield* within(12, () => pair.net.lost > 0)
    pair.net.carries = true
    yield* pass(60)
    expect([pair.net.dials, pair.ask()]).toEqual([1, served])
  })

  it.effect("finds its primary again after it was away, and after another took its place", function* () {
    const pair = yield* start
    yield* pair.startOutpost(pair.token(), pair.member)
    yield* live(pair)
    pair.net.isReachable = false
    yield* pair.endCell
    yield* pass(3_600, 10)
    pair.net.isReachable = true
    yield* pair.startCell
    yield* live(pair)
  })
})
