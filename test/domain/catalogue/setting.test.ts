import { describe, expect, it } from "vitest"
import { formOf, forms, hasForm } from "../../../src/domain/catalogue/setting.ts"

describe("the form of a setting", () => {
  it.each([
    ["truth", ["true", "no", "0"], ["True", "maybe", " yes", "2"]],
    [
      "address",
      ["[::]:443", "0.0.0.0:8443", "localhost:0"],
      ["somewhere", "[::]:65536", ":443", "a b:443", "::1:443", "a:443\n"]
    ],
    ["port", ["1", "65535"], ["0", "65536", "01", "1e3", " 443"]],
    ["bound", ["1", "10000"], ["0", "10001", "1.5", "many"]],
    ["leaseTime", ["1", "86400"], ["86401", "15s"]],
    ["objectName", ["agent", "a.b-c", "x".repeat(253)], ["Agent", "a,b", "-a", "x".repeat(254)]],
    ["objectNames", ["registry", "a,b.c"], ["a, b", ",", "a,", "x".repeat(254)]],
    ["namespaces", ["kube-system", "a,b", "x".repeat(63)], ["a, b", "a.b", "x".repeat(64)]],
    [
      "collector",
      ["http://collector:4318", "https://[::1]/v1?a=b"],
      ["collector:4318", "http://u:p@c", "http://a:65536"]
    ]
  ] as const)("%s takes its texts and no others", (form, good, bad) => {
    expect(good.filter((text) => !hasForm(forms[form], text))).toEqual([])
    expect(bad.filter((text) => hasForm(forms[form], text))).toEqual([])
  })

  it("of words has the words of the setting, and says its own sentence", () => {
    const form = formOf({ variable: "X", form: "words", words: ["a", "b"], about: "", cure: "write a or b" })
    expect(form).toMatchObject({ must: "names out of a, b, separated by commas without blanks", cure: "write a or b" })
    expect(["a", "b,a", "c", "a, b", ""].map((text) => form !== undefined && hasForm(form, text))).toEqual([
      true,
      true,
      false,
      false,
      false
    ])
  })
})
