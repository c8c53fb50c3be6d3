import { Effect, Redacted } from "effect"
import { describe, expect } from "vitest"
import { examineMadeCredentials } from "../../../../src/app/commands/doctor/examine-made-credentials.ts"
import { CredentialMaker, type MakeCredentials } from "../../../../src/ports/credential-maker.ts"
import { it } from "../../../support/effect-it.ts"
import { configurationOf } from "../../../support/fleet.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

const auth = { _tag: "ExecPlugin", provider: "google", config: undefined } as const

const examine = Effect.fnUntraced(function* (
  seenFrom: "kubeconfig" | "operator",
  make: MakeCredentials,
  problems: ReadonlyArray<string> = []
) {
  const [member] = configurationOf(["a"]).members
  if (member === undefined) return yield* Effect.die("no member")
  const installation = { account: undefined, own: new MemoryKubeApi("own"), seenFrom }
  return yield* examineMadeCredentials({ ...member, auth, problems }, auth, installation).pipe(
    Effect.provideService(CredentialMaker, make)
  )
})
const gives: MakeCredentials = () =>
  Effect.succeed({ credentials: { _tag: "BearerToken", token: Redacted.make("t") }, until: Infinity })

describe("what a plugin gives, as braid doctor sees it", () => {
  it.effect("is used in the operator's pod", function* () {
    const { config, credentials } = yield* examine("operator", gives)
    expect(credentials).toEqual({ _tag: "Cloud", auth })
    expect(config?.getCurrentUser()?.token).toBe("t")
  })

  it.effect("is told of if it is nothing, with the reason", function* () {
    const { credentials } = yield* examine("operator", () => Effect.fail("plugin /p: it is not executable; mount it"))
    expect(credentials).toMatchObject({
      _tag: "Unusable",
      problem: "Its plugin gives no credentials: plugin /p: it is not executable; mount it.",
      fix: expect.stringContaining("clusters by ClusterProfile")
    })
  })

  it.effect("is asked for neither elsewhere, nor for a profile that is refused", function* () {
    const never: MakeCredentials = () => Effect.die("the plugin was run")
    const { credentials } = yield* examine("kubeconfig", never)
    expect(credentials).toMatchObject({ _tag: "CloudOfOperator", report: undefined, identity: undefined })
    expect((yield* examine("operator", never, ["It is unusable."])).credentials).toMatchObject({ _tag: "Unusable" })
  })
})
