import { describe, expect, it } from "vitest"
import { collections, withoutSecrets } from "../../../../src/domain/commands/overview/report-contents.ts"

const canary = "Canary7Zq"

describe("a text of the report", () => {
  it.each([
    `slack_api_url: https://hooks.slack.com/services/T0/B0/${canary}`,
    `webhook_configs: [{url: "https://siem.example.com/in/${canary}"}]`,
    `{"webhookUrl":"https://x.webhook.office.com/webhookb2/1@2/IncomingWebhook/${canary}/3"}`,
    `- --notify\n- https://chat.example.com/webhook/${canary}`,
    `--audit-endpoint=https://siem.example.com/${canary}`,
    `SIEM_URI='https://siem.example.com/a/${canary}'`,
    `POST https://discord.com/api/webhooks/1/${canary} answered 500`,
    `POST https://logic.example.com/workflows/1?api-version=1&sig=${canary}`,
    `POST https://x.example.com/in?code=${canary}&x=1`,
    `POST https://api.telegram.org/bot123:${canary}/sendMessage`,
    `at https://${canary}@host/x, at https://ann:${canary}@host`
  ])("has none of the token in %s", (text) => {
    expect(withoutSecrets(text)).not.toContain(canary)
    expect(withoutSecrets(text)).toContain("(left out)")
  })

  it.each([
    "server: https://rancher.example.com/k8s/clusters/c-1",
    "url: https://10.0.0.1:6443",
    "GET https://10.0.0.1:6443/api/v1/namespaces/shop/services/web?limit=500 answered 500",
    'failed calling webhook "a.b.c": Post "https://a.b.svc:443/mutate-webhook?timeout=10s": refused',
    "image: ghcr.io/metalbear-co/mirrord:3.250.0@sha256:0123456789abcdef"
  ])("has all of %s", (text) => expect(withoutSecrets(text)).toBe(text))
})

describe("a variable of the operator", () => {
  const told = (name: string, value: string) => {
    const pods = collections.find(({ resource }) => resource.plural === "pods")
    const spec = { containers: [{ env: [{ name, value }] }] }
    return JSON.stringify(pods?.part({ metadata: { name: "operator-1" }, spec }, "mirrord")).includes(value)
  }

  it("is told if it is a setting, and neither a secret nor a URL", () => {
    expect(told("OPERATOR_SESSIONS", "500")).toBe(true)
    expect(told("OPERATOR_MUTATING_WEBHOOKS", "true")).toBe(true)
    expect(told("OPERATOR_JIRA_WEBHOOK_URL", canary)).toBe(false)
    expect(told("OPERATOR_SLACK", `https://chat.example.com/${canary}`)).toBe(false)
    expect(told("OTHER", "500")).toBe(false)
  })
})
