"""What looks like the frame of a conversation rather than its content, and what would carry something out.

Roles, templates, tools' results, closing tags; links with room for a secret, commands that send a file. Signs
and line breaks count, so these forms are for the text as it is written, in small letters.
"""

from carrel.screen.orders.words import SECRETS, Form

_BARE = r"(?<!`)"
_END = r"(?!`)"
"""A tag in quotes of code is spoken of, not used."""
_PLACE = (
    r"(?:https?://|ftp://|www\.|[\w.+-]{1,64}@[\w-]{1,64}\.|attacker|(?:the|a) webhook at|(?:this"
    r"|the following|my) (?:new |private )?(?:url|address|server|endpoint|webhook|site|e-?mail))"
)
_TOLD = (
    r"(?:conversation|history|chat|memor(?:y|ies)|secrets?|passwords?|prompt|system|credentials?|user_?data"
    r"|everything|stolen|leak|exfil\w{0,10}|env|private|summary|contents?|context|messages?|cookies?|ssh"
    r"|base64|data|answer|response)"
)
_FILES = (
    r"(?:\.ssh|\.aws|\.env\b|id_rsa|id_ed25519|/etc/(?:passwd|shadow|hostname)|printenv|\benv\b|secrets?\b"
    r"|\.netrc)"
)
_START = r"(?:^|\n)[\s#>*\[]{0,8}"

_ROLE_MARKER = (
    Form(
        "<|",
        r"<\|(?:im_start|start_header_id)\|>\s{0,4}(?:system|user|assistant|tool|developer)"
        rf"|{_BARE}<\|(?:system|assistant|user|tool|developer)\|>{_END}"
        r"|<\|(?:im_end|eot_id|endoftext|end|end_of_turn)\|>\s{0,4}(?:<\||(?:system|user|human"
        r"|assistant)\s{0,2}:)",
    ),
    Form("inst] sys>> _of_turn", rf"{_BARE}(?:\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>){_END}"),
    Form(
        "<system </system <assistant </assistant <developer </developer <important </important <admin "
        "</admin <information </information",
        rf"{_BARE}</?(?:system|assistant|developer|important|admin|information)(?:\s[^<>]{{0,80}})?>{_END}",
    ),
    Form(
        "prompt message reminder instruction note result output response call use input override & <",
        rf"{_BARE}</?(?:system|developer|assistant|user|tool|function)[-_ ](?:prompt|message|reminder"
        r"|instructions?|note|results?|output|response|calls?|use|input"
        rf"|override)(?:\s[^<>]{{0,80}})?>{_END}",
    ),
    Form(
        "</",
        rf"{_BARE}</(?:memory|recall|documents?|knowledge|journal|session|context|untrusted\w{{0,20}}|tool"
        r"|function|search_results?|web_?page|\w{1,20}_context|external\w{0,20})>\s{0,8}(?:[^\s`<]"
        r"|<[a-z])",
    ),
    Form("<invoke <function_calls <tool_", rf"{_BARE}<(?:invoke|function_calls|tool_calls?|tool_use)\b"),
    Form(
        "system developer",
        rf"{_START}(?:system|developer)(?: (?:prompt|message|note|notice|alert|update"
        r"|instructions?))?[\]*]{0,3}\s{0,2}:\s{0,4}(?:you\b|ignore|from now|new\b|override|disregard"
        r"|forget|all previous|give the|focus only|respond|reply|output|say\b|tell\b|the (?:assistant|user"
        r"|ai|agent|model|owner)\b)"
        r"|\bsystem prompt\s{0,2}:\s{0,4}you\b"
        r"|\bsystem (?:override|directive|command)s?\b\s{0,2}[:!-]",
    ),
    Form("override", r"\b(?:admin|administrator|developer|operator|root) override\b\s{0,2}[:!-]"),
    Form(
        "[system [admin [developer [operator",
        r"(?:^|\n)[\s>*]{0,6}\[(?:system|admin|developer|operator|system (?:message|prompt|note|override"
        r"|alert))\](?::|\(#|\s{1,3}(?:the (?:assistant|user|ai|agent|model)|you\b|assistant\b|all\b|new\b"
        r"|ignore|from now))",
    ),
    Form("[[system ```system", r"\[\[system\]\]|(?:^|\n)```system\s{0,3}\n"),
    Form("<user <human", r"<(?:user|human)>[^<>\n]{8,200}</(?:user|human)>"),
    Form(
        "#", r"(?:^|\n)#{1,6} ?(?:system|instruction|assistant|response|input)s?\s{0,2}:\s{0,4}(?:\n|$|you\b)"
    ),
    Form(
        "begin start end & prompt instruction input message context output result content",
        r"[-=#*]{2,8}\s{0,3}(?:begin|start|end)(?: of)? (?:the )?(?:system|new|hidden|user|developer"
        r"|admin|your|assistant|untrusted|tool)\s(?:\w{1,20} ){0,2}?(?:prompt|instructions?|input"
        r"|message|context|output|results?|content)",
    ),
    Form(
        "user human & assistant ai system",
        r"(?:^|\n)[\s>*]{0,6}(?:user"
        r"|human)\s{0,2}:[^\n]{0,200}\n(?:[^\n]{0,80}\n){0,2}[\s>*]{0,6}(?:assistant|ai"
        r"|system)\s{0,2}:",
    ),
    Form(
        "assistant & user human",
        r"(?:^"
        r"|\n)[\s>*]{0,6}assistant\s{0,2}:[^\n]{0,200}\n(?:[^\n]{0,80}\n){0,2}[\s>*]{0,6}(?:user"
        r"|human)\s{0,2}:",
    ),
    Form(
        "role", r"[\"']role[\"']\s{0,3}:\s{0,3}[\"'](?:system|developer)[\"']\s{0,3},\s{0,3}[\"']content[\"']"
    ),
)

_EXFILTRATION = (
    Form("![", r"!\[[^\]\n]{0,100}\]\(\s{0,3}https?://[^\s)?]{1,200}\?[^\s){<\[]{0,200}(?:\{|%7b|\$\{|<|\[)"),
    Form(
        "http & { %7b < [ $(",
        r"https?://[^\s\"'<>(){}\[\]]{1,200}(?:\{\{?|%7b|\$\{|<|\[|\$\()\s{0,2}(?:the |your |all "
        rf"|user'?s? |full |entire )?{_TOLD}\b(?! ?id)[^\n]{{0,30}}?(?:\}}|%7d|>|\]|\))",
    ),
    Form(
        "send post upload forward transmit exfiltrate mail submit leak report deliver copy ship push bcc "
        "transfer encode append & http ftp: www @ url address server endpoint webhook site attacker mail",
        r"\b(?:send|post|upload|forward|transmit|exfiltrate|e-?mail|submit|leak|report|deliver|copy|mail"
        r"|ship|push|bcc|transfer|encode"
        rf"|append)\b (?:[^\s!?;]{{1,40}} ){{0,8}}?{SECRETS}[^!?;\n]{{0,80}}?\b(?:to|at|via|with"
        rf"|into)\s{{1,2}}(?:\w+ ){{0,3}}?{_PLACE}",
    ),
    Form(
        "http & followed plus",
        r"https?://[^\s\"'<>]{1,200} (?:followed by|plus) (?:the |your |all )?(?:\w+ ){0,2}?(?:message"
        r"|conversation|history|password|secret|prompt|answer)",
    ),
    Form(
        "content",
        r"\b(?:send|post|upload|forward|e-?mail|submit)\b (?:the )?contents? of (?:\.env|~/|/etc/"
        r"|the \.env)[^!?\n]{0,60}?\bto\b",
    ),
    Form(
        "curl wget nc ncat invoke-webrequest fetch ping nslookup dig & .ssh .aws .env id_rsa id_ed25519 "
        "/etc/ printenv env secret .netrc",
        r"\b(?:curl|wget|nc|ncat|invoke-webrequest|fetch|ping|nslookup|dig)\b[^\n]{0,200}?(?:\$\(|`|@"
        r"|<\()\s{0,2}[^\n]{0,60}?" + _FILES,
    ),
    Form(
        "| & .ssh .aws .env id_rsa id_ed /etc/ printenv env .netrc secret",
        rf"{_FILES}[^\n|]{{0,60}}\|[^\n]{{0,60}}?\b(?:nc|ncat|curl|wget)\b",
    ),
    Form(
        "append add attach encode put embed & url link image query http",
        r"\b(?:append|add|attach|encode|put|embed)\b (?:[^\s!?;]{1,40} ){0,8}?(?:conversation"
        r"|chat history|secrets?|memory|memories|passwords?|api keys?|credentials"
        r"|system prompt)\b[^!?\n]{0,60}?(?:to|into|in|as) (?:the |this |a )?(?:url|link|image|query"
        r"|https?://)",
    ),
)

MARKERS: dict[str, tuple[Form, ...]] = {"role_marker": _ROLE_MARKER, "exfiltration": _EXFILTRATION}
