/**
 * Many outposts in one process, as operators run them but for their API servers, which are in memory, and the lanes,
 * which end at once. Started by members.ts: node outposts.ts FOLDER PORT, with the identities in FOLDER/members.json.
 */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect, Exit, Logger, Redacted, Result, Scope } from "effect"
import { makeTunnelDialler } from "../../../src/adapters/tunnel/tunnel-dialler.ts"
import { cellProblem, pinProblem } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { givenIdentity, keepIdentity } from "../../../src/app/outbound/outpost-identity.ts"
import { runOutpost } from "../../../src/app/outbound/outpost.ts"
import { CurrentTunnelCertificates } from "../../../src/app/outbound/tunnel-certificates.ts"
import type { CommandSequence } from "../../../src/domain/outbound/command-sequence.ts"
import { TunnelDialler } from "../../../src/ports/tunnel.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

interface Member {
  readonly name: string
  readonly certificatePem: string
  readonly keyPem: string
  readonly authoritiesPem: string
  readonly sequence: CommandSequence
}

const [folder = "", port = ""] = process.argv.slice(2)
const members = JSON.parse(readFileSync(join(folder, "members.json"), "utf8")) as ReadonlyArray<Member>
const api = new MemoryKubeApi("members")
const dialler = makeTunnelDialler({ cellProblem, pinProblem })
let scope = Effect.runSync(Scope.make())

const outpost = ({ name }: Member) =>
  runOutpost({
    ...{ api, namespace: name, cell: `127.0.0.1:${port}`, bootstrap: undefined },
    serve: (lane) => void lane.end()
  })

const start = (): Promise<unknown> =>
  Effect.runPromise(
    Effect.forEach(members, (member) => Effect.forkIn(outpost(member), scope), { discard: true }).pipe(
      Effect.provideService(TunnelDialler, dialler),
      Effect.provide(Logger.layer([])),
      Scope.provide(scope)
    )
  )

const stop = async (): Promise<void> => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  scope = Effect.runSync(Scope.make())
}

const certificates = await Effect.runPromise(Effect.service(CurrentTunnelCertificates))
for (const { keyPem, name, ...member } of members) {
  const given = { ...member, keyPem: Redacted.make(keyPem), token: "" }
  const identity = Result.getOrThrow(givenIdentity(certificates, given))
  await Effect.runPromise(keepIdentity({ api, namespace: name }, identity))
}
console.log(JSON.stringify({ ready: true }))
for await (const line of createInterface(process.stdin)) {
  const { what } = JSON.parse(line) as { readonly what: string }
  await (what === "start" ? start() : stop())
  console.log("{}")
}
process.exit()
