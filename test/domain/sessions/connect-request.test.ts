import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parameterNames } from "../../../src/domain/sessions/connect-parameter-catalogue.ts"
import {
  branchNames,
  connectQuery,
  decodeConnectHeader,
  encodeConnectHeader,
  forMember,
  ignoredParameters,
  parseConnectQuery
} from "../../../src/domain/sessions/connect-request.ts"

const full = new URLSearchParams([
  ["connect", "true"],
  ["on_concurrent_steal", "abort"],
  ["kafka_splits", '{"q":{"baggage":"^x$"}}'],
  ["sqs_splits", '{"*":{}}'],
  ["queue_modes", '{"q":"mirror"}'],
  ["branch_name", "feature/ü b"],
  ["mysql_branch_names", '["m1"]'],
  ["pg_branch_names", '["p1","p2"]'],
  ["mongodb_branch_names", "[]"],
  ["branch_db_names", '["x"]'],
  ["session_ci_info", '{"provider":"gh"}'],
  ["sqs_output_queues", '{"a":"b"}'],
  ["multi_cluster", "true"],
  ["of_the_future", "1"],
  ["key", "0a1b2"],
  ["header_filter", "x: a+b&c"]
]).toString()

const names = (entries: ReadonlyArray<readonly [string, string]>) => entries.map(([name]) => name)

describe("connect parameters", () => {
  it("are read from the query string with their meaning, unknown ones kept", () => {
    const params = Result.getOrThrow(parseConnectQuery(`?${full}`))
    expect(params.values).toMatchObject({
      connect: true,
      branch_name: "feature/ü b",
      pg_branch_names: ["p1", "p2"],
      multi_cluster: true,
      kafka_splits: { q: { baggage: "^x$" } },
      header_filter: "x: a+b&c"
    })
    expect(params.values).not.toHaveProperty("profile")
    expect(names(params.entries)).toContain("of_the_future")
    expect(connectQuery(params)).toBe(full)
    expect(ignoredParameters(params)).toEqual({ count: 1, names: ["of_the_future"] })
  })

  it("that are known are not counted, and of many unknown ones the first names are told, each once", () => {
    expect(ignoredParameters(Result.getOrThrow(parseConnectQuery("connect=true&key=a")))).toBeUndefined()
    const many = Array.from({ length: 30 }, (_, index) => `new${index % 15}=1`).join("&")
    const told = ignoredParameters(Result.getOrThrow(parseConnectQuery(many)))
    expect(told?.count).toBe(30)
    expect(told?.names).toEqual(Array.from({ length: 10 }, (_, index) => `new${index}`))
  })

  it("travel in a header as they are", () => {
    const header = encodeConnectHeader(full)
    expect(Buffer.from(header, "base64").toString()).toBe(full)
    expect(decodeConnectHeader(header)).toEqual(Result.succeed(full))
    expect(decodeConnectHeader("%%%")).toEqual(
      Result.fail(
        "The header x-mirrord-connect-params cannot be used: it holds characters that base64 does not use; it must " +
          "be standard base64 of the query string."
      )
    )
  })

  it("name each branch of a list once, with the older kind of the list", () => {
    expect(branchNames(Result.getOrThrow(parseConnectQuery(full)))).toEqual([
      { name: "m1", olderKind: "mysql" },
      { name: "p1", olderKind: "pg" },
      { name: "p2", olderKind: "pg" },
      { name: "x" }
    ])
    const twice = '?pg_branch_names=["a","a"]&branch_db_names=["a","b"]&mongodb_branch_names=["a"]'
    expect(branchNames(Result.getOrThrow(parseConnectQuery(twice)))).toEqual([
      { name: "a", olderKind: "pg" },
      { name: "a", olderKind: "mongodb" },
      { name: "a" },
      { name: "b" }
    ])
    expect(branchNames(Result.getOrThrow(parseConnectQuery("")))).toEqual([])
  })

  it("go to members with branch names for the default alone and is_default_cluster in its place", () => {
    const params = Result.getOrThrow(parseConnectQuery(`${full}&is_default_cluster=true`))
    const other = forMember(params, { isDefault: false })
    expect(names(other.entries).filter((name) => /branch/u.test(name))).toEqual(["branch_name"])
    expect(other.values).not.toHaveProperty("pg_branch_names")
    expect(other.values).toMatchObject({
      is_default_cluster: false,
      kafka_splits: { q: {} },
      sqs_splits: {},
      sqs_output_queues: { a: "b" }
    })
    expect(names(other.entries).filter((name) => name === "is_default_cluster")).toHaveLength(1)
    expect(names(other.entries).indexOf("is_default_cluster")).toBe(
      names(other.entries).indexOf("sqs_output_queues") - 1
    )

    const own = forMember(params, { isDefault: true })
    expect(own.values).toMatchObject({
      is_default_cluster: true,
      pg_branch_names: ["p1", "p2"],
      mysql_branch_names: ["m1"],
      branch_db_names: ["x"]
    })
    expect(Result.getOrThrow(parseConnectQuery(connectQuery(own)))).toEqual(own)
  })

  it("keep the client's order", () => {
    expect(parameterNames[0]).toBe("connect")
    expect(parameterNames.slice(-7)).toEqual([
      "is_default_cluster",
      "sqs_output_queues",
      "rmq_output_queues",
      "multi_cluster",
      "output_tmp_resources",
      "key",
      "header_filter"
    ])
    expect(parameterNames).toHaveLength(35)
  })

  it.each([
    ["connect=yes", "connect", "true"],
    ["on_concurrent_steal=maybe", "on_concurrent_steal", "abort, override or continue"],
    ["pg_branch_names=p1", "pg_branch_names", "JSON list"],
    ["pg_branch_names=[1]", "pg_branch_names", "[0]"],
    ["kafka_splits=[]", "kafka_splits", "JSON object"],
    ['kafka_splits={"q":{"h":1}}', "kafka_splits", "q.h"],
    ["label_target={}", "label_target", "labels"],
    ["multi_cluster=1", "multi_cluster", "true or false"],
    ["key=a&key=b", "key", "twice"]
  ])("are refused by name: %s", (query, parameter, text) => {
    const result = parseConnectQuery(query)
    if (Result.isSuccess(result)) throw new Error("accepted")
    expect(result.failure).toHaveLength(1)
    expect(result.failure[0]?.parameter).toBe(parameter)
    expect(result.failure[0]?.message).toContain(parameter)
    expect(result.failure[0]?.message).toContain(text)
  })

  it("tell every mistake at once, and a header that is no base64", () => {
    const several = parseConnectQuery("connect=1&multi_cluster=2&pg_branch_names=x")
    expect(Result.isFailure(several) && several.failure.map(({ parameter }) => parameter)).toEqual([
      "connect",
      "multi_cluster",
      "pg_branch_names"
    ])
  })

  it("never throw, and survive the way to a member whatever they hold", () => {
    const entry = fc.tuple(
      fc.oneof(fc.constantFrom(...parameterNames), fc.string()),
      fc.oneof(fc.json(), fc.string({ unit: "binary" }))
    )
    fc.assert(
      fc.property(fc.array(entry), fc.boolean(), (entries, isDefault) => {
        const query = new URLSearchParams(entries).toString()
        const result = parseConnectQuery(query)
        if (Result.isFailure(result)) return
        expect(connectQuery(result.success)).toBe(query)
        const sent = forMember(result.success, { isDefault })
        const arrived = Result.getOrThrow(decodeConnectHeader(encodeConnectHeader(connectQuery(sent))))
        expect(Result.getOrThrow(parseConnectQuery(arrived))).toEqual(sent)
      })
    )
  })
})

describe("a connect parameter that is a text", () => {
  it.each(["key", "header_filter", "profile", "branch_name"])("%s has at most 4096 bytes", (name) => {
    expect(Result.isSuccess(parseConnectQuery(`${name}=${"x".repeat(4_096)}`))).toBe(true)
    expect(parseConnectQuery(`${name}=${"x".repeat(4_097)}`)).toEqual(
      Result.fail([
        {
          _tag: "ConnectParamsError",
          parameter: name,
          message: `The connect parameter ${name} cannot be used: it has 4097 bytes, at most 4096 are taken.`
        }
      ])
    )
    expect(Result.isFailure(parseConnectQuery(`${name}=${encodeURIComponent("ü".repeat(2_049))}`))).toBe(true)
  })
  it("reaches the members as it is", () => {
    const key = "k\u202e\n\u001b[31m"
    const params = Result.getOrThrow(parseConnectQuery(new URLSearchParams({ key }).toString()))
    expect(params.values.key).toBe(key)
    expect(new URLSearchParams(connectQuery(forMember(params, { isDefault: false }))).get("key")).toBe(key)
  })
})
