/** The reference agent's command line: what is read, and the sentences about mistakes. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseAgentArguments } from "../../../lab/agent/agent-arguments.ts"

const parsed = (line: string) => Result.getOrThrow(parseAgentArguments(line.split(" ")))
const refused = (line: string) =>
  Result.getOrThrow(Result.flip(parseAgentArguments(line === "" ? [] : line.split(" "))))

describe("parseAgentArguments", () => {
  it("takes what operators send", () => {
    expect(parsed("./mirrord-agent -l 40000 -t 30 targeted --container-id abc --container-runtime containerd")).toEqual(
      {
        port: 40_000,
        communicationTimeoutSecs: 30,
        mode: { _tag: "Targeted", containerId: "abc" },
        operatorCertificate: undefined,
        protocolVersion: "1.29.0",
        unsupported: []
      }
    )
    expect(parsed("targetless")).toMatchObject({
      port: 61_337,
      communicationTimeoutSecs: 30,
      mode: { _tag: "Targetless" }
    })
    expect(parsed("--communicate-port=5 --ipv6 ephemeral --mesh istio")).toMatchObject({
      port: 5,
      mode: { _tag: "Ephemeral" }
    })
    expect(parsed("--operator-tls-cert-pem x --test-error targetless")).toMatchObject({
      operatorCertificate: "x",
      unsupported: ["--test-error"]
    })
    expect(parsed("--protocol-version 1.19.4 targetless")).toMatchObject({ protocolVersion: "1.19.4" })
  })

  it.each([
    ["", "a mode is missing: one of targetless, targeted, ephemeral"],
    ["-l 70000 targetless", '--communicate-port must be a whole number from 0 to 65535, not "70000"'],
    ["-t 1.5 targetless", '--communication-timeout must be a whole number from 0 to 65535, not "1.5"'],
    ["-t -1 targetless", 'option -t needs a value, and one that begins with a hyphen must follow "="'],
    ["--protocol-version 1.30.0 targetless", '--protocol-version must be a version from 1.2.2 to 1.29.0, not "1.30.0"'],
    ["targeted", "targeted needs --container-id"],
    ["targetless -l 5", "unexpected option -l after targetless"],
    ["--nope targetless", "unexpected option --nope"],
    ["-l", "option -l needs a value"],
    ["targetless targeted", 'unexpected argument "targeted"; the mode is one of targetless, targeted, ephemeral']
  ])("%j: %s", (line, reason) => expect(refused(line)).toBe(reason))
})
