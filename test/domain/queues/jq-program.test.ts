import { describe, expect, it } from "vitest"
import { jqInput, jqProblem, verdict } from "../../../src/domain/queues/jq-program.ts"

describe("a program of jq", () => {
  it.each([
    ["halt", "halt"],
    [".a | (halt_error)", "halt_error"],
    ["if input then true else false end", "input"],
    ["[inputs] | length > 0", "inputs"],
    ['include "x"; .', "include"],
    ['import "x" as x; x::f', "import"],
    ["$ENV.HOME == null", "$ENV"],
    ["$ ENV.HOME == null", "$ENV"],
    ["env.HOME == null", "env"],
    [". as $x | debug", "debug"],
    ['"\\(halt)"', "halt"],
    ['"a\\("b\\(1 + (2))c\\(halt)")"', "halt"],
    ['"\\((1) | halt)"', "halt"],
    ['"\\\\" | halt', "halt"],
    ['"\\"" | halt # "', "halt"],
    ["{a: halt}", "halt"],
    ['{"a":halt}', "halt"],
    ["# a comment\nhalt", "halt"],
    ["m::halt", "halt"]
  ])("%s is refused for %s", (program, word) => {
    expect(jqProblem(program)).toContain(`uses ${word}, which`)
  })

  it.each([
    '.Body | fromjson | .input == "halt"',
    ".MessageAttributes.env.StringValue == $halt",
    "# halt",
    '"a\\"halt" | length > 0',
    '"\\\\(halt"',
    '"\\("halt")halt"',
    '{input: 1, halt : 2} | .["env"]',
    'def inputs_of: .a; inputs_of | tojson | test("x")',
    "$environment",
    '"not closed',
    '"not closed \\',
    ""
  ])("%s may be used", (program) => expect(jqProblem(program)).toBe(undefined))

  it.each([
    [[true], true],
    [[false, true], false],
    [["true", [true], 1, null, true], true],
    [["true"], false],
    [[], false]
  ])("says by its outputs %j: %s", (outputs, wanted) => expect(verdict(outputs)).toBe(wanted))

  it("reads a message as the API of AWS has it", () => {
    const message = { MessageId: "m", ReceiptHandle: "r", Body: '{"a":1}', MD5OfBody: undefined }
    expect(jqInput(message)).toEqual({ MessageId: "m", ReceiptHandle: "r", Body: '{"a":1}' })
    expect(
      JSON.parse(
        JSON.stringify(
          jqInput(
            {
              ...message,
              MD5OfBody: "d",
              Attributes: { SentTimestamp: "1", SenderId: undefined },
              MessageAttributes: {
                key: { DataType: "Binary", BinaryValue: new Uint8Array([0, 255]), StringValue: undefined },
                name: { DataType: "String", StringValue: "x" }
              }
            },
            { owner: "ann" }
          )
        )
      )
    ).toEqual({
      MessageId: "m",
      ReceiptHandle: "r",
      Body: '{"a":1}',
      MD5OfBody: "d",
      Attributes: { SentTimestamp: "1" },
      MessageAttributes: {
        key: { DataType: "Binary", BinaryValue: "AP8=" },
        name: { DataType: "String", StringValue: "x" }
      },
      S3Metadata: { owner: "ann" }
    })
  })
})
