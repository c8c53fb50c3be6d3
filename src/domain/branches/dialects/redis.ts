/**
 * The facts about Redis from which its branches are made.
 *
 * Not here: its programs (src/adapters/engines/redis).
 */

import type { AddressForm, Dialect } from "../dialect.ts"

/** A branch has no TLS, which `rediss` would ask for, so such a URL cannot lead to it. */
const address: AddressForm = {
  schemes: ["redis"],
  secureSchemes: ["rediss"],
  locates: (parameter) => ["host", "port", "user", "username", "password", "path", "socket", "db"].includes(parameter),
  secures: (parameter) => /^(?:ssl|tls)/u.test(parameter),
  own: {},
  isNamedAfterUser: false
}

/** Redis. */
export const redis: Dialect = {
  repository: "docker.io/library/redis",
  version: "8",
  port: 6379,
  address,
  user: "default",
  userId: 999,
  programs: "redis",
  parts: "KeyPatterns",
  databaseForm: {
    holds: (name) => /^(?:0|[1-9][0-9]{0,3})$/u.test(name),
    words: "the index of a database, 0 to 9999"
  },
  partProblem: ({ name }) => (name === "" ? "is empty: leave the patterns out for all keys" : undefined),
  partName: (name) => name,
  dumpArgumentProblem: () => "and there is no dump program to take it",
  dumpArguments: []
}
