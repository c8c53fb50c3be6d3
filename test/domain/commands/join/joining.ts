import { stringify } from "yaml"
import { documentOf } from "../../../../src/adapters/files/configuration-files.ts"
import type { JoinFacts } from "../../../../src/domain/commands/join/join-plan.ts"
import type { JoinRequest } from "../../../../src/domain/commands/join/join-request.ts"

const ca = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

export const request = (more: Partial<JoinRequest> = {}): JoinRequest => ({
  name: "c",
  provider: "token",
  server: "https://c.example.com",
  certificateAuthority: ca,
  namespace: "mirrord",
  region: undefined,
  tenantId: undefined,
  clientId: undefined,
  group: undefined,
  user: undefined,
  ...more
})

const entry = (name: string) => ({ name, server: `https://${name}.example.com`, authType: "bearerToken" })

/** The files of a primary that only manages, with two members. */
export const documents = (clusters: object = { clusters: [entry("a"), entry("b")] }): JoinFacts["documents"] => ({
  multiCluster: documentOf(stringify({ clusterName: "primary", defaultCluster: "a" })),
  clusters: documentOf(stringify(clusters))
})

export const facts = (more: Partial<JoinFacts> = {}): JoinFacts => ({
  request: request(),
  documents: documents(),
  readsList: true,
  provided: [],
  identity: { found: "uid-c", own: "uid-primary", pins: new Map(), namespace: "mirrord" },
  holder: undefined,
  ...more
})
