/**
 * Branches of DynamoDB: the server that Amazon gives away, which begins empty and asks for no credentials. A copy would
 * need a program in its image that reads tables, and a cloud identity.
 *
 * Not here: its programs (src/adapters/engines/dynamodb).
 */

import type { AddressForm, Dialect } from "../dialect.ts"

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
  programs: "dynamodb",
  parts: "None",
  databaseForm: { holds: () => false, words: "left out, since DynamoDB has no names of databases" },
  partProblem: () => undefined,
  partName: (name) => name,
  dumpArgumentProblem: () => "and there is no dump program to take it",
  dumpArguments: []
}
