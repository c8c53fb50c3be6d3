import { expect, it } from "vitest"
import {
  copyOrder,
  orderAnnotation,
  orderedBy,
  orderedSession,
  selectedPrimary
} from "../../../src/domain/copies/copy-order.ts"

const order = {
  primary: "primary",
  session: "FF",
  owner: { userId: "u", username: "Ann", hostname: "laptop", k8sUsername: "ann" }
}

it("an order is read as it was written", () => {
  expect(copyOrder(orderAnnotation(order))).toEqual(order)
  expect(orderedSession(order)).toBe(255n)
  expect(selectedPrimary(orderedBy("primary"))).toBe("primary")
})

it.each([
  ["no annotations", undefined],
  ["no order", {}],
  ["no JSON", { "operator.metalbear.co/multi-cluster-copy": "{" }],
  ["no owner", { "operator.metalbear.co/multi-cluster-copy": '{"primary":"p","session":"1"}' }],
  ["a session that is no id", orderAnnotation({ ...order, session: "11112222333344445" })],
  ["a session in lower case", orderAnnotation({ ...order, session: "ff" })]
])("there is none with %s", (_name, annotations) => expect(copyOrder(annotations)).toBeUndefined())

it.each([[null], [""], ["app=myapp"], [`${orderedBy("a")},app=myapp=x`], [orderedBy("a").replace("=", "!=")]])(
  "the selector %j selects no primary's copies",
  (selector) => expect(selectedPrimary(selector)).toBeUndefined()
)
