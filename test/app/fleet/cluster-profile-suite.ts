/**
 * A cluster of a `ClusterProfile`: found by its object at an API server, and used with a token that a program gives, a
 * script that tells no more than it has to. Run against the embedded cluster and a real kube-apiserver.
 */

import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeCredentialMaker } from "../../../src/app/commands/credential-maker.ts"
import { clusterProfilesIn } from "../../../src/app/fleet/cluster-profiles.ts"
import { requestToken } from "../../../src/app/fleet/member-token.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { clusterProfiles } from "../../../src/domain/fleet/cluster-profile.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { clustersNamespace as namespace } from "../../support/cluster-api.ts"
import { accessProvider, profileManifests, profileStatus } from "../../support/cluster-profile.ts"
import { linklessConnector } from "../../support/linkless-connector.ts"
import { untilTrue } from "../../support/until-true.ts"
import type { ApiServer } from "./api-server.ts"

const run = Effect.runPromise

export const clusterProfileSuite = (use: () => ApiServer): void => {
  let folder = ""
  let admin: KubeApi
  const scope = Effect.runSync(Scope.make())
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "braid-plugin-"))
    const { apply, kubeconfigPath } = use()
    admin = (await run(linklessConnector(kubeconfigPath).pipe(Scope.provide(scope)))).own.api
    await apply(profileManifests)
    await untilTrue("profiles are served", () => run(Effect.isSuccess(admin.list(clusterProfiles, { namespace }))))
  })
  afterAll(async () => {
    await run(Scope.close(scope, Exit.void))
    await rm(folder, { recursive: true, force: true })
  })

  /** A program that checks what it is told and writes an ExecCredential. */
  const plugin = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    await writeFile(
      path,
      `#!/bin/sh\ncase "$KUBERNETES_EXEC_INFO" in *'of the manager'*) ;; *) exit 9 ;; esac\n${text}\n`
    )
    await chmod(path, 0o755)
    return path
  }

  it("gives clusters that are used with the tokens of a program, and lost with their profile", async () => {
    const found = await run(clusterProfilesIn(admin, namespace, [accessProvider()]).pipe(Scope.provide(scope)))
    expect(found.all()).toEqual([])
    const config = new KubeConfig()
    config.loadFromFile(use().kubeconfigPath)
    const { caData = "", server = "" } = config.getCurrentCluster() ?? {}
    const profile = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile", metadata: { name: "a" } }
    await run(admin.create(clusterProfiles, { ...profile, spec: { clusterManager: { name: "test" } } }, namespace))
    const status = profileStatus(server, Buffer.from(caData, "base64").toString("utf8"))
    await run(admin.mergePatch(clusterProfiles, "a", { status }, { namespace, subresource: "status" }))
    await untilTrue("the cluster is found", () => found.all().length === 1)
    const [cluster] = found.all()
    if (cluster?.member.auth._tag !== "ExecPlugin") throw new Error("no plugin is to be asked")
    const { auth } = cluster.member
    expect(cluster.member.problems).toEqual([])

    const token = await run(requestToken(admin, { name: "operator", namespace }, 600))
    const given = (text: string) =>
      `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"${text}"}}'`
    /** The reason why the API server refuses to list Secrets: it knows the bearer, or does not. */
    const reasonWith = async (command: string) => {
      const member = { ...cluster.member, name: clusterName("a") }
      const { credentials } = await run(makeCredentialMaker([accessProvider(command)])({ ...member, auth }))
      const connector = await run(linklessConnector(use().kubeconfigPath).pipe(Scope.provide(scope)))
      const { api } = await run(connector.member(member, credentials).pipe(Scope.provide(scope)))
      return run(Effect.map(Effect.flip(api.list(secrets, { namespace })), ({ reason }) => reason))
    }
    const right = await plugin("right", given(token === undefined ? "" : Redacted.value(token)))
    expect(await reasonWith(right)).toBe("Forbidden")
    expect(await reasonWith(await plugin("wrong", given("other")))).toBe("Unauthorized")

    await run(admin.delete(clusterProfiles, "a", { namespace }))
    await untilTrue("it is gone", () => found.all().length === 0)
  })
}
