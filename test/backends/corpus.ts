/** Notes of one household and its small company, in English, Chinese and code, with names that resemble each other. */
export const corpus: Readonly<Record<string, string>> = {
  "MEMORY.md": `# Memory

## People

- Ines Okafor runs the office; her desk phone is 4471.
- Tobias Lindqvist is the landlord. He wants rent questions by letter.
- 王芳是我们的会计，每周三下午在办公室。

## Preferences

- Answers come in bullet points, no more than five.
- Never schedule anything before nine on Mondays.
`,
  "memory/2026-01-12.md": `# 2026-01-12

- The boiler lost pressure again. The plumber Aurelio replaced the expansion vessel and filled it to 1.4 bar.
- Bought a descaler for the kettle.
`,
  "memory/2026-01-19.md": `# 2026-01-19

- Boiler pressure is stable at 1.5 bar after a week.
- Ordered winter tyres for the delivery van, size 215/65 R16.
`,
  "memory/2026-02-03.md": `# 2026-02-03

- Dentist: Mila needs a filling on the lower left, appointment on the 24th with Dr. Sorensen.
- The school trip goes to the salt mine; Mila needs rubber boots.
`,
  "memory/2026-02-17.md": `# 2026-02-17

- Flight to Lisbon moved to gate B22, departure 06:40. Seats 14A and 14B.
- The hotel in Lisbon is the Alma Nova; breakfast ends at ten.
`,
  "memory/2026-03-05.md": `# 2026-03-05

- Insurance: the water damage claim has the number WD-2231-K. The adjuster is Petra Haas.
- The carpenter measured the kitchen worktop: 312 cm, oak, oiled.
`,
  "memory/2026-03-22.md": `# 2026-03-22

- Tomatoes sown in the greenhouse: Black Krim, Matina and Ochsenherz.
- The rain barrel leaks at the tap. Teflon tape did not help.
`,
  "memory/2026-04-08.md": `# 2026-04-08

- The accountant says the fiscal year of the company ends in June, and the deposit for the workshop is deductible.
- Invoice 2026-118 to Brightwater is still unpaid; second reminder sent.
`,
  "memory/recipes.md": `# Recipes

## Sourdough

Feed the starter with rye at noon, mix at six, fold four times, bake at 245 degrees for 38 minutes.

## Borscht

Beetroot, cabbage, smoked ribs. The vinegar goes in at the end, or the colour turns brown.
`,
  "memory/garden.md": `# Garden

The hedge is hornbeam and is cut after the birds have left, in late August. The compost is turned in March and October.
The lawn mower takes SAE 30 oil, 0.6 litres.
`,
  "memory/bicycle.md": `# Bicycles

Mila's bike: 24 inch, tyre pressure 2.8 bar. The chain of the cargo bike is a KMC X11, changed at 4,200 km.
`,
  "memory/contracts.md": `# Contracts

- Electricity: Nordlicht, fixed price until November 2027, notice period six weeks.
- Internet: fibre from Kabelwerk, 500 Mbit, router password is on the inside of the fuse box.
- Gym: cancelled in May, the last payment was in July.
`,
  "memory/music.md": `# Music

The choir sings the Fauré Requiem in November; rehearsals are on Thursdays in the old library.
The cello needs a new A string, Larsen medium.
`,
  "memory/zh/健康.md": `# 健康

- 奶奶的血压药是氨氯地平，每天早饭后一片。
- 爸爸对青霉素过敏，看病时一定要告诉医生。
- 小明四月打了第二针疫苗，下一针在十月。
`,
  "memory/zh/旅行.md": `# 旅行

- 去成都的火车票订好了，六月十八日上午九点从西安北站出发。
- 酒店在宽窄巷子旁边，房间号要到了再问前台。
- 大熊猫基地要提前三天在网上预约。
`,
  "memory/zh/菜谱.md": `# 菜谱

- 麻婆豆腐：郫县豆瓣酱两勺，花椒要现磨，最后勾芡三次。
- 妈妈的红烧肉要用冰糖炒色，小火炖一个半小时。
`,
  "memory/zh/公司.md": `# 公司

- 季度报告要在每季度结束后第十个工作日之前交给税务局。
- 新办公室的门禁密码由行政部李娜管理。
- 供应商东海机械的账期是六十天。
`,
  "memory/zh/房子.md": `# 房子

- 阳台的防水层是二零二四年做的，保修五年。
- 热水器每年秋天要换镁棒，型号是二百六十毫米。
- 物业电话在电表箱的门上。
`,
  "memory/zh/学校.md": `# 学校

- 小明的班主任是陈老师，家长会在每学期第八周。
- 书法课改到星期五下午，需要自带毛毡。
- 校车在图书馆门口停，不在正门停。
`,
  "memory/zh/宠物.md": `# 宠物

- 猫咪团子每三个月驱虫一次，体重四点二公斤。
- 金鱼缸换水要先晒一天，温差不能超过两度。
`,
  "memory/zh/花园.md": `# 花园

- 绣球花要酸性土，开花后马上剪枝。
- 柠檬树冬天搬进屋里，十度以下会落叶。
`,
  "memory/zh/音乐.md": `# 音乐

- 古筝的弦用一年就要换，第七弦最容易断。
- 合唱团年底演出《黄河大合唱》，星期二晚上排练。
`,
  "memory/infra/gateway.md": `# Gateway

\`GatewayRouter.resolveUpstream()\` throws \`ERR_NO_UPSTREAM\` when every pool is drained. Restart with
\`systemctl restart edge-gateway@2\`. The limit lives in \`MAX_INFLIGHT_REQUESTS\`, 512 since March.
`,
  "memory/infra/queue.md": `# Queue

The worker \`invoice-mailer\` reads from \`q.invoices.v3\`. A message is dead after five tries and goes to
\`q.invoices.v3.dead\`. Error \`AMQP-406\` means that two workers acknowledged the same tag.
`,
  "memory/infra/staging.md": `# Staging

The staging database listens on port 5544, user \`stg_reader\`. Migrations run through \`pnpm db:migrate --env=staging\`.
The certificate of *.staging.example.test expires on the 3rd of each quarter.
`,
  "memory/infra/backup.md": `# Backup

\`restic\` writes to the bucket \`nbg-archive-02\` at 02:15. A restore is tried on the first Sunday of the month with
\`restore-drill.sh\`. Retention: 7 daily, 5 weekly, 12 monthly.
`,
  "memory/infra/monitoring.md": `# Monitoring

Alert \`DiskPressureHigh\` fires above 85 percent for ten minutes. The runbook is RB-0731. Silence it with
\`amtool silence add alertname=DiskPressureHigh\`.
`,
  "memory/code/parser.md": `# Parser

\`parseFrontMatter\` accepts YAML between \`---\` lines only at the top of the file. The regular expression was replaced by
\`FrontMatterScanner\` in commit 9f3c2ab, because of catastrophic backtracking (CVE-2026-31077).
`,
  "memory/code/build.md": `# Build

\`tsconfig.build.json\` has \`isolatedDeclarations\`; the bundle is made by \`scripts/make-bundle.mjs\`. A clean build takes
41 seconds. \`ENOSPC\` during the build means that the inotify limit is too low.
`,
  "memory/code/api.md": `# API

\`POST /v2/orders/{orderId}/refunds\` needs the header \`Idempotency-Key\`. The client class is \`RefundsClientV2\`; the old
\`RefundClient\` is gone since release 14.2.0.
`,
  "memory/code/auth.md": `# Authentication

Tokens are signed with Ed25519; the key id is \`kid-7QX91\`. \`verify_session_token\` tolerates 30 seconds of clock skew.
The cookie is called \`__Host-sid\`.
`,
  "memory/code/mobile.md": `# Mobile app

The build number is in \`AppVersion.swift\`. \`OfflineSyncCoordinator\` retries with \`backoffFactor = 1.7\`. Ticket
MOB-1189: the map crashes on Android 15 with \`NullPointerException\` in \`TileCache.evict\`.
`,
  "memory/code/search.md": `# Search service

\`rank_fusion_k\` is 60. The stop-word list is \`stopwords.de-en.txt\`. Index alias \`products_live\` points to
\`products_2026_04\`; \`swapAlias.ts\` flips it.
`,
};

/** A question, and the one note that holds its answer. */
export const questions: readonly (readonly [query: string, path: string])[] = [
  ["what is the desk phone of Ines Okafor", "MEMORY.md"],
  ["how does the landlord want rent questions", "MEMORY.md"],
  ["nothing scheduled before nine on Mondays", "MEMORY.md"],
  ["which plumber replaced the expansion vessel", "memory/2026-01-12.md"],
  ["size of the winter tyres for the delivery van", "memory/2026-01-19.md"],
  ["when is the dentist appointment with Dr. Sorensen", "memory/2026-02-03.md"],
  ["rubber boots for the school trip", "memory/2026-02-03.md"],
  ["gate and seats of the flight to Lisbon", "memory/2026-02-17.md"],
  ["who is the adjuster of the water damage claim", "memory/2026-03-05.md"],
  ["length of the oak kitchen worktop", "memory/2026-03-05.md"],
  ["tomato varieties in the greenhouse", "memory/2026-03-22.md"],
  ["when does the fiscal year of the company end", "memory/2026-04-08.md"],
  ["how long is sourdough baked", "memory/recipes.md"],
  ["vinegar in the borscht", "memory/recipes.md"],
  ["when is the hornbeam hedge cut", "memory/garden.md"],
  ["which oil does the lawn mower take", "memory/garden.md"],
  ["chain of the cargo bike", "memory/bicycle.md"],
  ["notice period of the electricity contract", "memory/contracts.md"],
  ["where are choir rehearsals of the Fauré Requiem", "memory/music.md"],
  ["which string does the cello need", "memory/music.md"],
  ["会计什么时候在办公室", "MEMORY.md"],
  ["奶奶的血压药", "memory/zh/健康.md"],
  ["爸爸对什么过敏", "memory/zh/健康.md"],
  ["疫苗下一针", "memory/zh/健康.md"],
  ["去成都的火车几点出发", "memory/zh/旅行.md"],
  ["大熊猫基地预约", "memory/zh/旅行.md"],
  ["麻婆豆腐怎么做", "memory/zh/菜谱.md"],
  ["红烧肉炖多久", "memory/zh/菜谱.md"],
  ["季度报告什么时候交", "memory/zh/公司.md"],
  ["门禁密码谁管理", "memory/zh/公司.md"],
  ["供应商的账期", "memory/zh/公司.md"],
  ["阳台防水层保修几年", "memory/zh/房子.md"],
  ["热水器镁棒型号", "memory/zh/房子.md"],
  ["小明的班主任", "memory/zh/学校.md"],
  ["书法课改到什么时候", "memory/zh/学校.md"],
  ["校车停在哪里", "memory/zh/学校.md"],
  ["猫咪驱虫", "memory/zh/宠物.md"],
  ["金鱼缸换水", "memory/zh/宠物.md"],
  ["绣球花要什么土", "memory/zh/花园.md"],
  ["古筝哪根弦容易断", "memory/zh/音乐.md"],
  ["WD-2231-K", "memory/2026-03-05.md"],
  ["invoice 2026-118", "memory/2026-04-08.md"],
  ["ERR_NO_UPSTREAM", "memory/infra/gateway.md"],
  ["resolveUpstream", "memory/infra/gateway.md"],
  ["what is MAX_INFLIGHT_REQUESTS", "memory/infra/gateway.md"],
  ["q.invoices.v3.dead", "memory/infra/queue.md"],
  ["AMQP-406", "memory/infra/queue.md"],
  ["port 5544", "memory/infra/staging.md"],
  ["pnpm db:migrate", "memory/infra/staging.md"],
  ["nbg-archive-02", "memory/infra/backup.md"],
  ["DiskPressureHigh", "memory/infra/monitoring.md"],
  ["RB-0731", "memory/infra/monitoring.md"],
  ["CVE-2026-31077", "memory/code/parser.md"],
  ["parseFrontMatter", "memory/code/parser.md"],
  ["isolatedDeclarations", "memory/code/build.md"],
  ["Idempotency-Key header", "memory/code/api.md"],
  ["kid-7QX91", "memory/code/auth.md"],
  ["TileCache.evict", "memory/code/mobile.md"],
  ["MOB-1189", "memory/code/mobile.md"],
  ["rank_fusion_k", "memory/code/search.md"],
];
