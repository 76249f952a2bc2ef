export { type FakeBehaviour, type FakeFault, type FakeQmd, type FakeQmdOptions, makeFakeQmd } from "./fake-qmd.ts";
export { realQmd } from "./real-qmd.ts";
