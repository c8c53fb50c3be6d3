/**
 * Branches of DynamoDB: the server that Amazon gives away, which begins empty and asks for no credentials. A copy would
 * need a program in its image that reads tables, and a cloud identity.
 *
 * Not here: the variables that these scripts read (branch-pod.ts).
 */

import type { AddressForm, Dialect } from "../dialect.ts"

const copyScript = `set -eu
[ "$COPY_MODE" = empty ] || { echo "tables of DynamoDB cannot be copied" >&2; exit 1; }
mkdir -p "$DATA"
`

/** The server is in the image's own folder, and listens to all addresses. All credentials see the same tables. */
const serveScript = `export DDB_LOCAL_TELEMETRY=0
exec java -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar -inMemory -sharedDb -port 8000 "$@"
`

/** An endpoint has neither credentials nor parameters, and the one of a branch has no TLS. */
const address: AddressForm = {
  schemes: ["http", "https"],
  scheme: "http",
  hasNoLogin: true,
  locates: () => false,
  secures: () => false,
  own: {},
  isNamedAfterUser: false
}

/** DynamoDB. */
export const dynamodb: Dialect = {
  repository: "docker.io/amazon/dynamodb-local",
  version: "2.6.1",
  port: 8_000,
  address,
  user: "",
  userId: 1_000,
  copyScript,
  serveScript,
  parts: "None",
  databaseForm: { holds: () => false, words: "left out, since DynamoDB has no names of databases" },
  partProblem: () => undefined,
  partName: (name) => name,
  dumpArgumentProblem: () => "and there is no dump program to take it",
  dumpArguments: []
}
