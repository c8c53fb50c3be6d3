import { expect, it } from "vitest"
import { proxyFor } from "../../../src/domain/fleet/proxy.ts"

const proxy = "http://proxy.example:3128"
const server = "https://api.prod.example:6443"

// Expected values: what `ProxyFromEnvironment` of Go's net/http answers for the same variables.
it.each<[string, Record<string, string>, string | undefined]>([
  [server, {}, undefined],
  [server, { HTTPS_PROXY: proxy }, proxy],
  [server, { https_proxy: proxy }, proxy],
  [server, { HTTPS_PROXY: "proxy.example:3128" }, proxy],
  [server, { HTTP_PROXY: proxy }, undefined],
  ["http://api.prod.example", { HTTP_PROXY: proxy }, proxy],
  [server, { HTTPS_PROXY: proxy, NO_PROXY: "*" }, undefined],
  [server, { HTTPS_PROXY: proxy, NO_PROXY: "other.example, prod.example" }, undefined],
  [server, { HTTPS_PROXY: proxy, no_proxy: ".example" }, undefined],
  [server, { HTTPS_PROXY: proxy, NO_PROXY: "*.prod.example" }, undefined],
  [server, { HTTPS_PROXY: proxy, NO_PROXY: ".api.prod.example" }, proxy],
  [server, { HTTPS_PROXY: proxy, NO_PROXY: "rod.example" }, proxy],
  [server, { HTTPS_PROXY: proxy, NO_PROXY: "API.prod.example:6443" }, undefined],
  [server, { HTTPS_PROXY: proxy, NO_PROXY: "api.prod.example:443" }, proxy],
  ["https://10.1.2.3", { HTTPS_PROXY: proxy, NO_PROXY: "10.1.2.3:443" }, undefined],
  ["https://10.1.2.3", { HTTPS_PROXY: proxy, NO_PROXY: "10.0.0.0/15" }, undefined],
  ["https://10.2.2.3", { HTTPS_PROXY: proxy, NO_PROXY: "10.0.0.0/15,10.2.2.2,.3" }, proxy],
  ["https://[fd00::1:2]:6443", { HTTPS_PROXY: proxy, NO_PROXY: "fd00::/112" }, proxy],
  ["https://[fd00::1:2]:6443", { HTTPS_PROXY: proxy, NO_PROXY: "fd00::/96" }, undefined],
  ["https://[fd00::1:2]:6443", { HTTPS_PROXY: proxy, NO_PROXY: "[fd00::1:2]:6443" }, undefined],
  // Never for this machine itself.
  ["https://localhost:6443", { HTTPS_PROXY: proxy }, undefined],
  ["https://127.40.1.0:6443", { HTTPS_PROXY: proxy }, undefined],
  ["https://[::1]:6443", { HTTPS_PROXY: proxy }, undefined],
  ["no address", { HTTPS_PROXY: proxy }, undefined]
])("%s with %j: %s", (url, variables, expected) => expect(proxyFor(url, variables)).toBe(expected))
