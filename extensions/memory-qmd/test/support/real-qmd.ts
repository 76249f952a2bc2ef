export * from "@memslot/qmd-fakes";
