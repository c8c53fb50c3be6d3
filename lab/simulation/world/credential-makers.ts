/**
 * Stand-ins for what makes credentials for a primary: the token services of clouds, and a plugin, which the product's
 * own code runs. Each member's maker may fail, hang, be slow, or give an answer without sense.
 *
 * Not here: which API server knows what they make (account-tokens.ts).
 */

import { Clock, Effect, Redacted } from "effect"
import { makePluginCredentials } from "../../../src/app/fleet/plugin-credentials.ts"
import type { AccessProvider } from "../../../src/domain/fleet/access-providers.ts"
import { type ExecFailure, execPatienceSecs } from "../../../src/domain/fleet/credentials/exec-credential.ts"
import { maxMakingPause } from "../../../src/domain/fleet/credentials/made-credentials.ts"
import { asString, at } from "../../../src/domain/json.ts"
import type { MakeCredentials } from "../../../src/ports/credential-maker.ts"
import type { AccountTokens } from "./account-tokens.ts"
import { pluginName } from "./member-plan.ts"

export const makerModes = ["works", "fails", "hangs", "slow", "nonsense"] as const
export type MakerMode = (typeof makerModes)[number]

const apiVersion = "client.authentication.k8s.io/v1"
/** Time until an answer, ms. */
const usual = 200
const slow = 5_000
const hung = execPatienceSecs * 1_000
/** After an answer that was none, a process asks again within this time, ms: the longest pause with its jitter. */
const maxWait = 1.25 * maxMakingPause

export const accessProviders: ReadonlyArray<AccessProvider> = [
  {
    name: pluginName,
    execConfig: { apiVersion, command: "/plugin", args: [], env: {}, provideClusterInfo: true }
  }
]

const answerIn = (mode: MakerMode): Effect.Effect<"answer" | "nonsense", ExecFailure> => {
  switch (mode) {
    case "works":
      return Effect.delay(Effect.succeed("answer" as const), usual)
    case "slow":
      return Effect.delay(Effect.succeed("answer" as const), slow)
    case "nonsense":
      return Effect.delay(Effect.succeed("nonsense" as const), usual)
    case "fails":
      return Effect.delay(Effect.fail({ _tag: "Failed", how: 1, stderr: "not now" } as const), usual)
    case "hangs":
      return Effect.delay(Effect.fail({ _tag: "TooSlow" } as const), hung)
  }
}

export class CredentialMakers {
  readonly #tokens: (member: string) => AccountTokens
  readonly #now: () => number
  readonly #modes = new Map<string, MakerMode>()
  #awaitedUntil = -Infinity

  /** `now`: world time, ms. */
  constructor(tokens: (member: string) => AccountTokens, now: () => number) {
    this.#tokens = tokens
    this.#now = now
  }

  /** Whether a process may not have asked again yet, after an answer that was none. */
  get isAwaited(): boolean {
    return this.#now() < this.#awaitedUntil
  }

  /** Whether each maker works. */
  get isWell(): boolean {
    return this.#modes.size === 0
  }

  heal(): void {
    this.#modes.clear()
  }

  set(member: string, mode: MakerMode): void {
    if (mode === "works") this.#modes.delete(member)
    else this.#modes.set(member, mode)
  }

  /** Makes credentials as the process in which it runs. */
  readonly make: MakeCredentials = (cluster) => {
    const { auth, ...asked } = cluster
    return auth._tag === "ExecPlugin" ? this.#plugin({ ...asked, auth }) : this.#cloud(cluster.name)
  }

  /** The answer after its time; the failure says why there is none. */
  #answer(member: string): Effect.Effect<"answer" | "nonsense", ExecFailure> {
    return Effect.suspend(() => {
      const mode = this.#modes.get(member) ?? "works"
      if (mode === "fails" || mode === "hangs" || mode === "nonsense")
        this.#awaitedUntil = this.#now() + (mode === "hangs" ? hung : usual) + maxWait
      return answerIn(mode)
    })
  }

  #cloud(member: string): ReturnType<MakeCredentials> {
    const tokens = this.#tokens(member)
    return Effect.gen({ self: this }, function* () {
      const answer = yield* Effect.mapError(this.#answer(member), ({ _tag }) => `the cloud gives no token (${_tag})`)
      if (answer === "nonsense") return yield* Effect.fail("the cloud's answer is no token")
      const now = yield* Clock.currentTimeMillis
      const token = Redacted.make(tokens.grant(tokens.lifetime))
      return { credentials: { _tag: "BearerToken", token } as const, until: now + tokens.lifetime }
    })
  }

  readonly #plugin = makePluginCredentials({
    providers: accessProviders,
    run: (_program, info) => {
      const server = asString(at(JSON.parse(info) as object, "spec", "cluster", "server")) ?? ""
      const member = new URL(server).hostname
      return Effect.map(this.#answer(member), (answer) =>
        answer === "nonsense" ? "Please log in." : this.#credential(member)
      )
    },
    serverTime: ({ server = "" }) => Effect.sync(() => this.#tokens(new URL(server).hostname).now())
  })

  #credential(member: string): string {
    const tokens = this.#tokens(member)
    const token = tokens.grant(tokens.lifetime)
    const expirationTimestamp = new Date(tokens.now() + tokens.lifetime).toISOString()
    return JSON.stringify({ apiVersion, kind: "ExecCredential", status: { token, expirationTimestamp } })
  }
}
