package connect

// The protocols of presets.
const (
	chatAPI   = "chat"
	responses = "responses"
	messages  = "messages"
	geminiAPI = "gemini"
)

// presets has one row per provider: its name, other names for it, its protocol, its base URL, its key variables and any
// special settings. In a base URL, {NAME} stands for an environment variable. Where the catalogue has models for the
// provider, both use the same name. Quirks of chat servers are in package chat's table, by host.
var presets = []preset{
	{"openrouter", "", chatAPI, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", extra{model: "anthropic/claude-sonnet-5.5", session: "X-Session-Id", routes: openrouterRoutes}},
	{"deepseek", "", chatAPI, "https://api.deepseek.com", "DEEPSEEK_API_KEY", extra{model: "deepseek-v4-pro"}},
	{"xai", "grok", responses, "https://api.x.ai/v1", "XAI_API_KEY", extra{model: "grok-4.7", session: "X-Grok-Conv-Id"}},
	{"mistral", "", chatAPI, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", extra{model: "mistral-medium-latest"}},
	{"groq", "", chatAPI, "https://api.groq.com/openai/v1", "GROQ_API_KEY", extra{model: "openai/gpt-oss-120b"}},
	{"cerebras", "", chatAPI, "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", extra{model: "gpt-oss-120b"}},
	{"moonshot", "moonshotai kimi", chatAPI, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", extra{model: "kimi-k3"}},
	{"kimi-for-coding", "kimi-coding", chatAPI, "https://api.kimi.com/coding/v1", "KIMI_API_KEY", extra{model: "kimi-for-coding", like: "moonshot", trim: "kimi-"}},
	{"zai", "z.ai", chatAPI, "https://api.z.ai/api/paas/v4", "ZAI_API_KEY ZHIPU_API_KEY", extra{model: "glm-5.3"}},
	{"zai-coding-plan", "", chatAPI, "https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY ZHIPU_API_KEY", extra{model: "glm-5.3", like: "zai"}},
	{"minimax", "", messages, "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", extra{model: "MiniMax-M3.1-Flash"}},
	{"qwen", "alibaba dashscope", chatAPI, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", extra{model: "qwen3.8-max"}},
	{"alibaba-token-plan", "qwen-token-plan qwen-token-plan-individual", chatAPI, "https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1", "QWEN_TOKEN_PLAN_API_KEY ALIBABA_TOKEN_PLAN_API_KEY", extra{model: "qwen3.8-max", like: "qwen"}},
	{"meta", "", responses, "https://api.meta.ai/v1", "META_API_KEY", extra{model: "muse-spark-1.3"}},
	{"togetherai", "together", chatAPI, "https://api.together.ai/v1", "TOGETHER_API_KEY", extra{model: "zai-org/GLM-5.3"}},
	{"fireworks-ai", "fireworks", chatAPI, "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", extra{model: "accounts/fireworks/models/glm-5p3", session: "X-Session-Affinity"}},
	{"deepinfra", "", chatAPI, "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY", extra{}},
	{"huggingface", "hf", chatAPI, "https://router.huggingface.co/v1", "HF_TOKEN", extra{model: "zai-org/GLM-5.3"}},
	{"nvidia", "", chatAPI, "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY", extra{model: "deepseek-ai/deepseek-v4.1-flash", header: "NVCF-POLL-SECONDS: 3600"}},
	{"vercel", "vercel-ai-gateway", chatAPI, "https://ai-gateway.vercel.sh/v1", "AI_GATEWAY_API_KEY", extra{model: "anthropic/claude-sonnet-5.5", routes: vercelRoutes}},
	{"cloudflare-ai-gateway", "", chatAPI, "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}/compat", "CLOUDFLARE_API_KEY CLOUDFLARE_API_TOKEN", extra{model: "claude-sonnet-5-5", session: "X-Session-Affinity", auth: "Cf-Aig-Authorization", routes: cloudflareRoutes}},
	{"github-models", "", chatAPI, "https://models.github.ai/inference", "GITHUB_TOKEN", extra{}},
	{"opencode", "opencode-zen", chatAPI, "https://opencode.ai/inference/openai/v1", "OPENCODE_API_KEY", extra{model: "claude-sonnet-5-5", session: "X-Opencode-Session", routes: opencodeRoutes}},
	{"ollama-cloud", "", chatAPI, "https://ollama.com/v1", "OLLAMA_API_KEY", extra{}},
	{"baseten", "", chatAPI, "https://inference.baseten.co/v1", "BASETEN_API_KEY", extra{model: "zai-org/GLM-5.3", session: "X-Session-Affinity"}},
	{"nebius", "", chatAPI, "https://api.tokenfactory.nebius.com/v1", "NEBIUS_API_KEY", extra{}},
	{"novita-ai", "novita", chatAPI, "https://api.novita.ai/openai", "NOVITA_API_KEY", extra{}},
	{"siliconflow", "", chatAPI, "https://api.siliconflow.com/v1", "SILICONFLOW_API_KEY", extra{}},
	{"perplexity", "", chatAPI, "https://api.perplexity.ai", "PERPLEXITY_API_KEY", extra{model: "sonar-pro"}},

	{"302ai", "", chatAPI, "https://api.302.ai/v1", "302AI_API_KEY", extra{}},
	{"abacus", "", chatAPI, "https://routellm.abacus.ai/v1", "ABACUS_API_KEY", extra{}},
	{"abliteration-ai", "", chatAPI, "https://api.abliteration.ai/v1", "ABLIT_KEY", extra{}},
	{"aihubmix", "", chatAPI, "https://aihubmix.com/v1", "AIHUBMIX_API_KEY", extra{}},
	{"alibaba-cn", "qwen-cn", chatAPI, "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", extra{model: "qwen3.8-max", like: "qwen"}},
	{"alibaba-coding-plan", "", chatAPI, "https://coding-intl.dashscope.aliyuncs.com/v1", "ALIBABA_CODING_PLAN_API_KEY", extra{like: "qwen"}},
	{"alibaba-coding-plan-cn", "", chatAPI, "https://coding.dashscope.aliyuncs.com/v1", "ALIBABA_CODING_PLAN_API_KEY", extra{like: "qwen"}},
	{"alibaba-token-plan-cn", "qwen-token-plan-cn qwen-token-plan-individual-cn", chatAPI, "https://token-plan.cn-beijing.maas.aliyuncs.com/compatible-mode/v1", "QWEN_TOKEN_PLAN_API_KEY ALIBABA_TOKEN_PLAN_API_KEY", extra{model: "qwen3.8-max", like: "qwen"}},
	{"ambient", "", chatAPI, "https://api.ambient.xyz/v1", "AMBIENT_API_KEY", extra{}},
	{"ant-ling", "", chatAPI, "https://api.ant-ling.com/v1", "ANT_LING_API_KEY", extra{}},
	{"anyapi", "", chatAPI, "https://api.anyapi.ai/v1", "ANYAPI_API_KEY", extra{}},
	{"atomic-chat", "", chatAPI, "http://127.0.0.1:1337/v1", "ATOMIC_CHAT_API_KEY", extra{optional: true}},
	{"auriko", "", chatAPI, "https://api.auriko.ai/v1", "AURIKO_API_KEY", extra{}},
	{"azure-cognitive-services", "", responses, "https://{AZURE_COGNITIVE_SERVICES_RESOURCE_NAME}.cognitiveservices.azure.com/openai/v1", "AZURE_COGNITIVE_SERVICES_API_KEY", extra{auth: "api-key", like: "openai"}},
	{"bailing", "", chatAPI, "https://api.tbox.cn/api/llm/v1", "BAILING_API_TOKEN", extra{}},
	{"berget", "", chatAPI, "https://api.berget.ai/v1", "BERGET_API_KEY", extra{}},
	{"chutes", "", chatAPI, "https://llm.chutes.ai/v1", "CHUTES_API_KEY", extra{}},
	{"clarifai", "", chatAPI, "https://api.clarifai.com/v2/ext/openai/v1", "CLARIFAI_PAT", extra{}},
	{"claudinio", "", chatAPI, "https://api.claudin.io/v1", "CLAUDINIO_API_KEY", extra{}},
	{"cloudferro-sherlock", "", chatAPI, "https://api-sherlock.cloudferro.com/openai/v1", "CLOUDFERRO_SHERLOCK_API_KEY", extra{}},
	{"cloudflare-workers-ai", "", chatAPI, "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1", "CLOUDFLARE_API_KEY CLOUDFLARE_API_TOKEN", extra{session: "X-Session-Affinity"}},
	{"cohere", "", chatAPI, "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", extra{}},
	{"cortecs", "", chatAPI, "https://api.cortecs.ai/v1", "CORTECS_API_KEY", extra{}},
	{"crof", "", chatAPI, "https://crof.ai/v1", "CROF_API_KEY", extra{}},
	{"databricks", "", chatAPI, "https://{DATABRICKS_HOST}/ai-gateway/mlflow/v1", "DATABRICKS_TOKEN", extra{}},
	{"digitalocean", "", chatAPI, "https://inference.do-ai.run/v1", "DIGITALOCEAN_ACCESS_TOKEN", extra{}},
	{"dinference", "", chatAPI, "https://api.dinference.com/v1", "DINFERENCE_API_KEY", extra{}},
	{"drun", "", chatAPI, "https://chat.d.run/v1", "DRUN_API_KEY", extra{}},
	{"evroc", "", chatAPI, "https://models.think.evroc.com/v1", "EVROC_API_KEY", extra{}},
	{"fastrouter", "", chatAPI, "https://go.fastrouter.ai/api/v1", "FASTROUTER_API_KEY", extra{}},
	{"freemodel", "", messages, "https://cc.freemodel.dev", "FREEMODEL_API_KEY", extra{}},
	{"friendli", "", chatAPI, "https://api.friendli.ai/serverless/v1", "FRIENDLI_TOKEN", extra{}},
	{"frogbot", "", chatAPI, "https://app.frogbot.ai/api/v1", "FROGBOT_API_KEY", extra{}},
	{"gmicloud", "", chatAPI, "https://api.gmi-serving.com/v1", "GMICLOUD_API_KEY", extra{}},
	{"helicone", "", chatAPI, "https://ai-gateway.helicone.ai/v1", "HELICONE_API_KEY", extra{}},
	{"hpc-ai", "", chatAPI, "https://api.hpc-ai.com/inference/v1", "HPC_AI_API_KEY", extra{}},
	{"iflowcn", "", chatAPI, "https://apis.iflow.cn/v1", "IFLOW_API_KEY", extra{}},
	{"inception", "", chatAPI, "https://api.inceptionlabs.ai/v1", "INCEPTION_API_KEY", extra{}},
	{"inceptron", "", chatAPI, "https://api.inceptron.io/v1", "INCEPTRON_API_KEY", extra{}},
	{"inference", "", chatAPI, "https://inference.net/v1", "INFERENCE_API_KEY", extra{}},
	{"io-net", "", chatAPI, "https://api.intelligence.io.solutions/api/v1", "IOINTELLIGENCE_API_KEY", extra{}},
	{"jiekou", "", chatAPI, "https://api.jiekou.ai/openai", "JIEKOU_API_KEY", extra{}},
	{"kilo", "", chatAPI, "https://api.kilo.ai/api/gateway", "KILO_API_KEY", extra{}},
	{"kuae-cloud-coding-plan", "", chatAPI, "https://coding-plan-endpoint.kuaecloud.net/v1", "KUAE_API_KEY", extra{}},
	{"lilac", "", chatAPI, "https://api.getlilac.com/v1", "LILAC_API_KEY", extra{}},
	{"llama", "", chatAPI, "https://api.llama.com/compat/v1", "LLAMA_API_KEY", extra{}},
	{"llmgateway", "", chatAPI, "https://api.llmgateway.io/v1", "LLMGATEWAY_API_KEY", extra{}},
	{"llmtr", "", chatAPI, "https://llmtr.com/v1", "LLMTR_API_KEY", extra{}},
	{"lmstudio", "", chatAPI, "http://127.0.0.1:1234/v1", "LMSTUDIO_API_KEY", extra{optional: true}},
	{"lucidquery", "", chatAPI, "https://api.lucidquery.com/v1", "LUCIDQUERY_API_KEY", extra{}},
	{"meganova", "", chatAPI, "https://api.meganova.ai/v1", "MEGANOVA_API_KEY", extra{}},
	{"merge-gateway", "", chatAPI, "https://api-gateway.merge.dev/v1/openai", "MERGE_GATEWAY_API_KEY", extra{}},
	{"minimax-cn", "", messages, "https://api.minimaxi.com/anthropic", "MINIMAX_CN_API_KEY MINIMAX_API_KEY", extra{model: "MiniMax-M3.1-Flash", like: "minimax"}},
	{"minimax-cn-coding-plan", "", messages, "https://api.minimaxi.com/anthropic", "MINIMAX_CN_API_KEY MINIMAX_API_KEY", extra{model: "MiniMax-M3.1-Flash", like: "minimax"}},
	{"minimax-coding-plan", "", messages, "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", extra{model: "MiniMax-M3.1-Flash", like: "minimax"}},
	{"mixlayer", "", chatAPI, "https://models.mixlayer.ai/v1", "MIXLAYER_API_KEY", extra{}},
	{"moark", "", chatAPI, "https://moark.com/v1", "MOARK_API_KEY", extra{}},
	{"modelscope", "", chatAPI, "https://api-inference.modelscope.cn/v1", "MODELSCOPE_API_KEY", extra{}},
	{"moonshotai-cn", "moonshot-cn", chatAPI, "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", extra{model: "kimi-k3", like: "moonshot"}},
	{"morph", "", chatAPI, "https://api.morphllm.com/v1", "MORPH_API_KEY", extra{}},
	{"nano-gpt", "", chatAPI, "https://nano-gpt.com/api/v1", "NANO_GPT_API_KEY", extra{}},
	{"nearai", "", chatAPI, "https://cloud-api.near.ai/v1", "NEARAI_API_KEY", extra{}},
	{"neon", "", chatAPI, "https://{NEON_AI_GATEWAY_BASE_URL}/ai-gateway/mlflow/v1", "NEON_AI_GATEWAY_TOKEN", extra{}},
	{"neuralwatt", "", chatAPI, "https://api.neuralwatt.com/v1", "NEURALWATT_API_KEY", extra{}},
	{"nova", "", chatAPI, "https://api.nova.amazon.com/v1", "NOVA_API_KEY", extra{}},
	{"opencode-go", "", chatAPI, "https://opencode.ai/inference/go/openai/v1", "OPENCODE_API_KEY", extra{model: "glm-5.3", session: "X-Opencode-Session", routes: opencodeGoRoutes}},
	{"orcarouter", "", chatAPI, "https://api.orcarouter.ai/v1", "ORCAROUTER_API_KEY", extra{}},
	{"ovhcloud", "", chatAPI, "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "OVHCLOUD_API_KEY", extra{}},
	{"perplexity-agent", "", responses, "https://api.perplexity.ai/v1", "PERPLEXITY_API_KEY", extra{}},
	{"poe", "", chatAPI, "https://api.poe.com/v1", "POE_API_KEY", extra{}},
	{"poolside", "", chatAPI, "https://inference.poolside.ai/v1", "POOLSIDE_API_KEY", extra{}},
	{"privatemode-ai", "", chatAPI, "http://localhost:8080/v1", "PRIVATEMODE_API_KEY", extra{optional: true}},
	{"qihang-ai", "", chatAPI, "https://api.qhaigc.net/v1", "QIHANG_API_KEY", extra{}},
	{"qiniu-ai", "", chatAPI, "https://api.qnaigc.com/v1", "QINIU_API_KEY", extra{}},
	{"regolo-ai", "", chatAPI, "https://api.regolo.ai/v1", "REGOLO_API_KEY", extra{}},
	{"requesty", "", chatAPI, "https://router.requesty.ai/v1", "REQUESTY_API_KEY", extra{}},
	{"routing-run", "", chatAPI, "https://ai.routing.sh/v1", "ROUTING_RUN_API_KEY", extra{}},
	{"sakana", "", chatAPI, "https://api.sakana.ai/v1", "SAKANA_API_KEY", extra{}},
	{"sarvam", "", chatAPI, "https://api.sarvam.ai/v1", "SARVAM_API_KEY", extra{}},
	{"scaleway", "", chatAPI, "https://api.scaleway.ai/v1", "SCALEWAY_API_KEY", extra{}},
	{"siliconflow-cn", "", chatAPI, "https://api.siliconflow.cn/v1", "SILICONFLOW_CN_API_KEY", extra{}},
	{"snowflake-cortex", "snowflake", chatAPI, "https://{SNOWFLAKE_ACCOUNT}.snowflakecomputing.com/api/v2/cortex/v1", "SNOWFLAKE_CORTEX_PAT", extra{}},
	{"stackit", "", chatAPI, "https://api.openai-compat.model-serving.eu01.onstackit.cloud/v1", "STACKIT_API_KEY", extra{}},
	{"stepfun", "", chatAPI, "https://api.stepfun.com/v1", "STEPFUN_API_KEY", extra{}},
	{"stepfun-ai", "", chatAPI, "https://api.stepfun.ai/step_plan/v1", "STEPFUN_API_KEY", extra{}},
	{"subconscious", "", chatAPI, "https://api.subconscious.dev/v1", "SUBCONSCIOUS_API_KEY", extra{}},
	{"submodel", "", chatAPI, "https://llm.submodel.ai/v1", "SUBMODEL_INSTAGEN_ACCESS_KEY", extra{}},
	{"synthetic", "", chatAPI, "https://api.synthetic.new/openai/v1", "SYNTHETIC_API_KEY", extra{}},
	{"tencent-coding-plan", "", chatAPI, "https://api.lkeap.cloud.tencent.com/coding/v3", "TENCENT_CODING_PLAN_API_KEY", extra{}},
	{"tencent-tokenhub", "", chatAPI, "https://tokenhub.tencentmaas.com/v1", "TENCENT_TOKENHUB_API_KEY", extra{}},
	{"the-grid-ai", "", chatAPI, "https://api.thegrid.ai/v1", "THEGRIDAI_API_KEY", extra{}},
	{"tinfoil", "", chatAPI, "https://inference.tinfoil.sh/v1", "TINFOIL_API_KEY", extra{}},
	{"umans-ai", "", chatAPI, "https://api.code.umans.ai/v1", "UMANS_AI_API_KEY", extra{}},
	{"umans-ai-coding-plan", "", chatAPI, "https://api.code.umans.ai/v1", "UMANS_AI_CODING_PLAN_API_KEY", extra{}},
	{"upstage", "", chatAPI, "https://api.upstage.ai/v1/solar", "UPSTAGE_API_KEY", extra{}},
	{"v0", "", chatAPI, "https://api.v0.dev/v1", "V0_API_KEY", extra{}},
	{"venice", "", chatAPI, "https://api.venice.ai/api/v1", "VENICE_API_KEY", extra{}},
	{"vivgrid", "", responses, "https://api.vivgrid.com/v1", "VIVGRID_API_KEY", extra{}},
	{"vultr", "", chatAPI, "https://api.vultrinference.com/v1", "VULTR_API_KEY", extra{}},
	{"wafer.ai", "", chatAPI, "https://pass.wafer.ai/v1", "WAFER_API_KEY", extra{}},
	{"wandb", "", chatAPI, "https://api.inference.wandb.ai/v1", "WANDB_API_KEY", extra{}},
	{"xiaomi", "", chatAPI, "https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY", extra{model: "mimo-v2.6-pro"}},
	{"xiaomi-token-plan-ams", "", chatAPI, "https://token-plan-ams.xiaomimimo.com/v1", "XIAOMI_API_KEY", extra{model: "mimo-v2.6-pro", like: "xiaomi"}},
	{"xiaomi-token-plan-cn", "", chatAPI, "https://token-plan-cn.xiaomimimo.com/v1", "XIAOMI_API_KEY", extra{model: "mimo-v2.6-pro", like: "xiaomi"}},
	{"xiaomi-token-plan-sgp", "", chatAPI, "https://token-plan-sgp.xiaomimimo.com/v1", "XIAOMI_API_KEY", extra{model: "mimo-v2.6-pro", like: "xiaomi"}},
	{"xpersona", "", chatAPI, "https://www.xpersona.co/v1", "XPERSONA_API_KEY", extra{}},
	{"zeldoc", "", chatAPI, "https://api.zeldoc.ai/v1", "ZELDOC_API_KEY", extra{}},
	{"zenmux", "", chatAPI, "https://zenmux.ai/api/v1", "ZENMUX_API_KEY", extra{}},
	{"zhipuai", "zhipu", chatAPI, "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY", extra{model: "glm-5.3", like: "zai"}},
	{"zhipuai-coding-plan", "zai-coding-cn", chatAPI, "https://open.bigmodel.cn/api/coding/paas/v4", "ZAI_CODING_CN_API_KEY ZHIPU_API_KEY", extra{model: "glm-5.3", like: "zai"}},
}

// The routes of gateways that have several protocols.
var (
	openrouterRoutes = []route{{"anthropic/", messages, "https://openrouter.ai/api", bearer}}
	vercelRoutes     = []route{{"anthropic/", messages, "https://ai-gateway.vercel.sh", bearer}}
	cloudflareRoutes = []route{
		{"/", chatAPI, "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}/compat", ""},
		{"claude-", messages, "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}/anthropic", ""},
		{"gpt-", responses, "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}/openai", ""},
	}
	opencodeRoutes = []route{
		{"claude-", messages, "https://opencode.ai/inference/anthropic", ""},
		{"qwen", messages, "https://opencode.ai/inference/anthropic", ""},
		{"gpt-", responses, "https://opencode.ai/inference/openai/v1", ""},
		{"gemini-", geminiAPI, "https://opencode.ai/inference/google", ""},
	}
	opencodeGoRoutes = []route{
		{"claude-", messages, "https://opencode.ai/inference/go/anthropic", ""},
		{"qwen", messages, "https://opencode.ai/inference/go/anthropic", ""},
		{"minimax-", messages, "https://opencode.ai/inference/go/anthropic", ""},
		{"gpt-", responses, "https://opencode.ai/inference/go/openai/v1", ""},
		{"gemini-", geminiAPI, "https://opencode.ai/inference/go/google", ""},
	}
)

// renamed has other names for providers that are not presets.
var renamed = [][2]string{
	{"amazon-bedrock", "bedrock"},
	{"azure-openai-responses", "azure"},
	{"google", "gemini"},
	{"google-vertex", "vertex"},
	{"google-vertex-anthropic", "vertex"},
}

// refused has what to say about providers that need a sign-in or a protocol that this package does not have.
var refused = [][2]string{
	{"github-copilot", "it needs a sign-in with a GitHub application that is approved for Copilot, and Reins has none; " +
		"use github-models with GITHUB_TOKEN, or the API key of a model vendor"},
	{"claude-code", planTokens},
	{"claude-max", planTokens},
	{"claude-plan", planTokens},
	{"claude-pro", planTokens},
	{"gitlab", "it needs a sign-in to GitLab Duo, which Reins does not have; use the API key of a model vendor"},
	{"radius", "it has its own protocol, which Reins does not have; use the API key of a model vendor"},
	{"sap-ai-core", "it needs tokens that SAP issues for a service key; add it to your configuration as [providers.NAME] with a key_command"},
}

const planTokens = "Anthropic's terms allow the sign-in of Claude plans only in its own applications; " +
	"create an API key at platform.claude.com and set ANTHROPIC_API_KEY"
