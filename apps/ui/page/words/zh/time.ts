import type { time as en } from "../en/time.ts";

export const time: Record<keyof typeof en, string> = {
  "time.title": "时间",
  "time.month": "月份",
  "time.before": "上个月",
  "time.next": "下个月",
  "time.today": "今天",
  "time.years": "年份",
  "time.cell": "{day}：{notes} 篇笔记，{lines} 行，{sessions} 次会话，{flushes} 次转存",
  "time.empty.title": "还没有带日期的笔记",
  "time.empty.text":
    "名称类似 2026-03-05.md 或前置元数据中有日期的笔记会出现在这里。智能体用 memory_append 写这样的日志。",
  "time.untold": "此后端不说明有哪些笔记。",
  "time.undated": "{count} 篇笔记没有日期。",
  "time.left": "另有 {count} 项未显示。",
  "time.notes": "笔记",
  "time.spans": "属于这一周、月或年",
  "time.sessions": "会话",
  "time.flushes": "从会话转存",
  "time.nothing": "这一天什么也没有。",
  "time.choose": "请选择一天。",
  "time.period": "把一段时间作为问题",
  "time.from": "从",
  "time.to": "到",
  "time.ask": "提问",
};
