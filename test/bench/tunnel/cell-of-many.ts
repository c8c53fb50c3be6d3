/**
 * The cell of a primary with many members, as the operator runs it but for its API server, which is in memory. Started
 * by members.ts: node cell-of-many.ts FOLDER COUNT. Writes the members' identities to FOLDER/members.json.
 */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Exit, Logger, Redacted, Result, Scope } from "effect"
import { freePort } from "../../../lab/playground/free-ports.ts"
import { makeTunnelListener } from "../../../src/adapters/tunnel/cell-listener.ts"
import { defaultBounds } from "../../../src/adapters/tunnel/guarded-listener.ts"
import {
  makeOutpostRequest,
  readMemberCertificate,
  signOutpost
} from "../../../src/adapters/x509/tunnel-certificates.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { readTunnelAuthority } from "../../../src/app/outbound/authority.ts"
import { type Cell, startCell } from "../../../src/app/outbound/cell.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { admittedKeysData } from "../../../src/domain/outbound/admitted-keys.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { TunnelListener } from "../../../src/ports/tunnel.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const [folder = "", count = "0"] = process.argv.slice(2)
const namespace = "mirrord"
const names = Array.from({ length: Number(count) }, (_, at) => clusterName(`member-${at}`))
const api = new MemoryKubeApi("primary")
const [port, bootstrapPort] = [await freePort(), await freePort()]
const say = (answer: object): void => console.log(JSON.stringify(answer))

/** Members of the field have addresses of their own, where these share one. */
const listener = makeTunnelListener(readMemberCertificate, { ...defaultBounds, perSecond: Number(count) })

let cell: Cell | undefined
let scope: Scope.Closeable | undefined

const start = async (): Promise<void> => {
  scope = Effect.runSync(Scope.make())
  const settings = { hosts: ["127.0.0.1"], port, bootstrapPort, bootstrapRanges: [], certificateHours: 72 }
  const isConfigured = (): boolean => true
  const options = { api, namespace, settings, isConfigured, configured: () => names, listen: () => () => undefined }
  cell = await Effect.runPromise(
    startCell(options).pipe(
      Effect.provideService(TunnelListener, listener),
      Effect.provide(Logger.layer([])),
      Scope.provide(scope)
    )
  )
}

const stop = async (): Promise<void> => {
  if (scope !== undefined) await Effect.runPromise(Scope.close(scope, Exit.void))
  cell = undefined
}

/** Gives each member a certificate. All have the same key, whose making is not what is measured. */
const admit = async (): Promise<void> => {
  const { keyPem, requestPem } = await makeOutpostRequest()
  const authority = await Effect.runPromise(readTunnelAuthority(api, namespace))
  const life = { from: Date.now() - 60_000, until: Date.now() + 72 * 3_600_000 }
  const members: Array<object> = []
  for (const name of names) {
    const certificatePem = Result.getOrThrow(await signOutpost(authority, { requestPem, name, life }))
    const { keyId } = Result.getOrThrow(readMemberCertificate(certificatePem))
    const change = { metadata: { labels: { [credentialsLabel]: "true" } }, data: admittedKeysData([keyId]) }
    api.write(secrets, credentialsSecretName(name, sha256Hex), change, namespace)
    const { bundlePem: authoritiesPem, sequence } = authority
    members.push({ name, certificatePem, keyPem: Redacted.value(keyPem), authoritiesPem, sequence })
  }
  writeFileSync(join(folder, "members.json"), JSON.stringify(members))
}

const all = async (): Promise<void> => {
  while (!names.every((name) => cell?.until(name) !== undefined)) await pause(50)
}

const memory = async (): Promise<{ readonly rss: number; readonly heap: number }> => {
  for (let round = 0; round < 4; round++) {
    await pause(500)
    globalThis.gc?.()
  }
  const { external, heapUsed, rss } = process.memoryUsage()
  return { rss, heap: heapUsed + external }
}

await start()
await admit()
say({ port })
for await (const line of createInterface(process.stdin)) {
  const { what } = JSON.parse(line) as { readonly what: string }
  if (what === "start") await start()
  if (what === "stop") await stop()
  if (what === "all") await all()
  say(what === "memory" ? await memory() : {})
}
process.exit()
