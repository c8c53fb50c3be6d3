import { Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseAccessProviders } from "../../../src/domain/fleet/access-providers.ts"

const execConfig = { apiVersion: "client.authentication.k8s.io/v1", command: "/plugins/get-token" }
const parse = (value: unknown) => parseAccessProviders({ _tag: "Parsed", value })
const withConfig = (fields: object) => ({ providers: [{ name: "a", execConfig: { ...execConfig, ...fields } }] })
const mistakes = (value: unknown) =>
  Result.match(parse(value), { onFailure: (all) => all.map(({ message }) => message), onSuccess: () => [] })

describe("the file of access providers", () => {
  it("names programs with their arguments and variables", () => {
    const env = [{ name: "REALM", value: "secret" }]
    const read = Result.getOrThrow(parse(withConfig({ args: ["login"], env, provideClusterInfo: true })))
    expect(read).toEqual([
      {
        name: "a",
        execConfig: { ...execConfig, args: ["login"], env: { REALM: expect.anything() }, provideClusterInfo: true }
      }
    ])
    expect(read.map((one) => Object.values(one.execConfig.env).map(Redacted.value))).toEqual([["secret"]])
    expect(JSON.stringify(read)).not.toContain("secret")
  })

  it("may be one of cluster-inventory-api, with null for what it leaves out", () => {
    expect(mistakes(withConfig({ args: null, env: null, interactiveMode: "Never", installHint: "brew" }))).toEqual([])
    expect(parseAccessProviders({ _tag: "Absent" })).toEqual(Result.succeed([]))
  })

  it.each<[string, unknown, string]>([
    ["no list", { providers: {} }, "providers: it must be a list"],
    ["a text", { providers: ["a"] }, "providers[0]: it must be a map"],
    ["no name", { providers: [{ execConfig }] }, "providers[0].name: it must be text (found nothing); write the name"],
    ["no program", { providers: [{ name: "a" }] }, "providers[0].execConfig: it must be a map"],
    [
      "a relative path",
      withConfig({ command: "./run" }),
      'command: it must be an absolute path, or a name in PATH (found "./run")'
    ],
    ["another version", withConfig({ apiVersion: "v2" }), "apiVersion: it must be client.authentication.k8s.io/v1 or"],
    ["no version", withConfig({ apiVersion: null }), "apiVersion: it is missing"],
    ["numbers", withConfig({ args: [1] }), "args: it must be a list of texts"],
    ["a map of variables", withConfig({ env: { A: "b" } }), "env: it must be a list of name and value"],
    ["a terminal", withConfig({ interactiveMode: "Always" }), "the operator has no terminal; leave it out"],
    ["a wrong switch", withConfig({ provideClusterInfo: "yes" }), "provideClusterInfo: it must be true or false"],
    ["a field that does not exist", withConfig({ shell: true }), "execConfig.shell: there is no such field"],
    [
      "arguments by profiles",
      { providers: [{ name: "a", execConfig, profileSourcedCLIArgsPolicy: "Append" }] },
      "profileSourcedCLIArgsPolicy: it must be Ignore"
    ],
    [
      "variables by profiles",
      { providers: [{ name: "a", execConfig, profileSourcedEnvVarsPolicy: "Replace" }] },
      "profileSourcedEnvVarsPolicy: it must be Ignore"
    ],
    [
      "two of one name",
      {
        providers: [
          { name: "a", execConfig },
          { name: "a", execConfig }
        ]
      },
      'providers[1].name: an entry before has this name (found "a")'
    ]
  ])("with %s is refused", (_what, value, sentence) => {
    const told = mistakes(value)
    expect(told.some((one) => one.startsWith("access-providers.yaml, ") && one.includes(sentence))).toBe(true)
  })

  it("tells no variable's value and no argument in its mistakes", () => {
    const told = mistakes(withConfig({ args: ["hidden", 1], env: [{ name: "A", value: "hidden" }, 1] }))
    expect(told).toHaveLength(2)
    expect(told.join()).not.toContain("hidden")
  })
})
