/**
 * The whole knowledge of the deterministic embeddings: each group is one meaning. A word in Latin letters stands for its
 * plural too, and one that ends in `*` for every word that begins so.
 */
export const builtInSynonyms: readonly (readonly string[])[] = [
  ["car", "automobile", "vehicle", "sedan", "hatchback"],
  ["allerg*", "can't eat", "cannot eat", "must not eat", "makes me ill"],
  ["doctor", "physician", "clinic", "medical appointment", "check-up", "医生", "看病", "门诊", "体检", "医院"],
  ["invoice", "bill", "how much do I owe", "payment due", "outstanding amount"],
  ["holiday", "vacation", "travel plan", "getaway"],
  ["database", "postgres", "sql server", "data store"],
  ["backup", "restore", "safety copy", "safety copies", "disaster recovery"],
  ["password", "passphrase", "credential", "密码", "口令"],
  ["cat", "kitten", "feline", "猫"],
  ["salary", "pay rise", "compensation", "工资", "薪水"],
  ["child", "children", "kid", "daughter", "son", "孩子", "女儿", "儿子"],
  ["rent", "landlord", "lease", "tenancy", "房租", "房东"],
  ["deadline", "due date", "overdue", "behind schedule", "截止", "逾期"],
  ["birthday", "turns forty", "born on", "生日"],
];
