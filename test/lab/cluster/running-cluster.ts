import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { parse } from "yaml"
import {
  type EmbeddedCluster,
  type EmbeddedClusterOptions,
  startEmbeddedCluster
} from "../../../lab/cluster/embedded-cluster.ts"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { ApiClient, type Credentials } from "./api-client.ts"

export interface RunningCluster {
  readonly cluster: EmbeddedCluster
  readonly directory: string
  readonly admin: ApiClient
  readonly adminCredentials: Credentials
  readonly credentialsFor: (user: string, groups: ReadonlyArray<string>) => Promise<Credentials>
  readonly close: () => Promise<void>
}

/** Certificate and key of the only user in a kubeconfig. */
const readCredentials = async (path: string): Promise<Credentials> => {
  const user = at(asObjects(at(parse(await readFile(path, "utf8")), "users"))[0], "user")
  const pem = (field: string) => Buffer.from(asString(at(user, field)) ?? "", "base64").toString("utf8")
  return { cert: pem("client-certificate-data"), key: pem("client-key-data") }
}

/** A cluster in a folder of its own, for a test file's `beforeAll`. */
export const runCluster = async (options: Partial<EmbeddedClusterOptions> = {}): Promise<RunningCluster> => {
  const directory = await mkdtemp(join(tmpdir(), "braid-embedded-"))
  const scope = Scope.makeUnsafe()
  const cluster = await Effect.runPromise(
    startEmbeddedCluster({ name: "test", directory, ...options }).pipe(Scope.provide(scope))
  )
  const adminCredentials = await readCredentials(cluster.kubeconfigPath)
  let users = 0
  return {
    cluster,
    directory,
    adminCredentials,
    admin: new ApiClient(cluster.server, cluster.caPem, adminCredentials),
    credentialsFor: async (user, groups) => {
      const path = join(directory, `user-${++users}.kubeconfig`)
      await Effect.runPromise(cluster.userKubeconfig({ user, groups, path }))
      return readCredentials(path)
    },
    close: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await rm(directory, { recursive: true, force: true })
    }
  }
}
