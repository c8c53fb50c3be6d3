import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  extraEnvironment,
  parseAgentConfiguration,
  defaultAgentConfiguration
} from "../../../src/domain/agents/agent-configuration.ts"
import { agentFields } from "../../../src/domain/agents/agent-fields.ts"

const defaultImage = "example.com:5000/mirrord:1"
const parse = (value: unknown) => parseAgentConfiguration({ _tag: "Parsed", value }, defaultImage)
const sentences = (value: unknown): ReadonlyArray<string> => {
  const result = parse(value)
  return Result.isFailure(result) ? result.failure.map(({ message }) => message) : []
}

describe("agent-config.yaml", () => {
  it.each([[{ _tag: "Absent" }], [{ _tag: "Parsed", value: null }], [{ _tag: "Parsed", value: {} }]] as const)(
    "that says nothing leaves agents as usual: %j",
    (document) =>
      expect(parseAgentConfiguration(document, defaultImage)).toEqual(Result.succeed(defaultAgentConfiguration))
  )

  it("leaves fields that a newer chart may write alone", () =>
    expect(parse({ later: [1], ephemerals: true })).toEqual(Result.succeed(defaultAgentConfiguration)))

  it.each([
    ["a:b", "a:b"],
    [{ registry: "r", tag: "t" }, "r:t"],
    [{ tag: 3.25 }, "example.com:5000/mirrord:3.25"],
    [{ registry: "r" }, "r:1"],
    ["", undefined],
    [null, undefined]
  ])("says with the image %j that it is %s", (image, expected) =>
    expect(Result.map(parse({ image }), (found) => found.image)).toEqual(Result.succeed(expected))
  )

  it("prefers priority_class to the name that the published chart looks for", () => {
    const both = Result.getOrThrow(parse({ priority_class: "a", priority_class_name: "b" }))
    expect(both.priorityClass).toBe("a")
  })

  it.each([
    [{ ttl: "5" }, 'ttl: it must be a whole number from 0 to 65535 (found "5"); write it without quotes.'],
    [
      { startup_timeout: 0 },
      "startup_timeout: it must be a whole number from 1 to 86400 (found 0); write it without quotes."
    ],
    [{ privileged: "yes" }, 'privileged: it must be true or false (found "yes"); write true or false without quotes.'],
    [{ labels: ["a"] }, 'labels: it must be a map (found ["a"]); write keys below it.'],
    [{ labels: { version: 1.1 } }, "labels.version: it must be text (found 1.1); write it in quotes."],
    [
      { disabled_capabilities: ["SYS_ADMIN", "KILL"] },
      'disabled_capabilities[1]: it must be one of SYS_ADMIN, SYS_PTRACE, NET_ADMIN (found "KILL"); write one of them.'
    ],
    [
      { tolerations: [{ operator: "Exist" }] },
      'tolerations[0].operator: it must be one of Exists, Equal (found "Exist"); write one of them.'
    ],
    [{ tolerations: [null] }, "tolerations[0]: it must be a map (found null); write keys below it."],
    [
      { resources: { limit: { cpu: 1 } } },
      'resources.limit: there is no such field (found {"cpu":1}); write one of limits, requests.'
    ],
    [
      { resources: { limits: { cpu: true } } },
      "resources.limits.cpu: it must be a quantity (found true); write for example 100Mi."
    ],
    [{ dns: { constructor: 1 } }, "dns.constructor: there is no such field (found 1); write one of attempts, timeout."],
    [{ service_account: "A" }, 'service_account: it must be the name of an object (found "A"); write its name.'],
    [{ image: [] }, "image: it must be text, or a map of registry and tag (found []); write it in quotes."],
    [{ tolerations: {} }, "tolerations: it must be a list (found {}); write it as a list."],
    [
      { image_pull_secrets: ["a"] },
      'image_pull_secrets[0]: it must be a map with the name of a Secret (found "a"); ' +
        "write for example {name: registry}."
    ]
  ])("is refused with %j", (file, sentence) => expect(sentences(file)).toEqual([`agent-config.yaml, ${sentence}`]))

  it("is refused if it is no map, with every mistake at once, and if it cannot be read", () => {
    expect(sentences([])).toEqual([
      "agent-config.yaml: the file must hold a map (found []); write fields such as labels at its top level."
    ])
    expect(sentences({ ttl: -1, labels: 5 })).toHaveLength(2)
    const unread = parseAgentConfiguration({ _tag: "Unreadable", reason: "ENOENT" }, defaultImage)
    expect(Result.isFailure(unread) && unread.failure[0]?.message).toContain("cannot be read")
  })

  it("of any content is judged", () => {
    const file = fc.dictionary(fc.constantFrom(...Object.keys(agentFields)), fc.jsonValue({ maxDepth: 4 }))
    fc.assert(
      fc.property(file, (value) => {
        const result = parse(value)
        if (Result.isFailure(result)) {
          // Each mistake names a field that is in the file.
          for (const { field } of result.failure) expect(Object.keys(value)).toContain(field.split(/[.[]/u)[0])
        } else for (const text of Object.values(result.success.variables)) expect(text).toBeTypeOf("string")
      })
    )
  })
})

describe("OPERATOR_AGENT_EXTRA_ENV", () => {
  it.each([
    ["{}", {}],
    ['{"A":"b","C":1,"D":false,"E":null}', { A: "b", C: "1", D: "false" }],
    ["[]", undefined],
    ["A=b", undefined],
    ['{"A":{}}', undefined],
    ['{"":"b"}', undefined],
    ['{"A=B":"c"}', undefined]
  ])("%s holds %j", (text, variables) => expect(extraEnvironment(text)).toEqual(variables))
})
