import json
print(json.dumps({'offer': 'OF-0000000', 'sent': True, 'answer_by': '2026-12-15'}))
