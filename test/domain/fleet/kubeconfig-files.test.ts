import { expect, it } from "vitest"
import { clusterFiles } from "../../../src/domain/fleet/kubeconfig-files.ts"

it("each file is a cluster of its name without the ending; a kubelet's own files are none", () => {
  const found = clusterFiles("/k", ["..data", "..2026_11_25", "b.yaml", "a", "eu.west.conf", "c.kubeconfig", "d.yml"])
  expect([...found.files]).toEqual([
    ["a", "a"],
    ["b", "b.yaml"],
    ["c", "c.kubeconfig"],
    ["d", "d.yml"],
    ["eu.west", "eu.west.conf"]
  ])
  expect(found.problems).toEqual([])
})

it("of two files for one cluster the first is used, and the other is told", () => {
  const found = clusterFiles("/k", ["b.yml", "b.yaml"])
  expect([...found.files]).toEqual([["b", "b.yaml"]])
  expect(found.problems).toEqual([`File "b.yml" of /k is not used: "b.yaml" is for the same cluster; remove one.`])
})
